#include "cpp/planner/check_order.h"

#include <algorithm>

#include "cpp/planner/concat.h"

namespace lane {

CheckOrder::CheckOrder(const Step& step, const StreamPlan& plan, std::vector<Finding>& findings)
    : step_(step),
      plan_(plan),
      findings_(findings),
      stream_(step.launches.size()),
      rank_(step.launches.size()),
      started_(step.launches.size()),
      known_(step.launches.size()) {
  if (plan.streams < 1 || plan.streams > kMaxStreams) {
    report(Fault::kStream, concat("streams: found ", plan.streams, ", allowed 1 to ", kMaxStreams));
    is_order_ = false;
    return;
  }
  for (size_t at = 0; at < plan.issues.size(); ++at) read_issue(plan.issues[at], at);
  for (uint32_t launch = 0; launch < rank_.size(); ++launch) {
    if (rank_[launch] != 0) continue;
    report(Fault::kLaunches, concat("launch ", launch, " '", step_.launches[launch].name, "' is not issued"));
    is_order_ = false;
  }
  if (!is_order_) return;
  check_forks();
  check_joins();
}

void CheckOrder::read_issue(const Issue& issue, size_t at) {
  if (issue.launch >= rank_.size()) {
    report(Fault::kLaunches, concat("issue ", at, ": launch ", issue.launch, ", the step has ", rank_.size()));
    is_order_ = false;
  } else if (rank_[issue.launch] != 0) {
    report(Fault::kLaunches, concat("issue ", at, ": launch ", issue.launch, " is issued a second time"));
    is_order_ = false;
  } else if (issue.stream >= plan_.streams) {
    report(Fault::kStream, concat("issue ", at, ": stream ", issue.stream, ", the plan has ", plan_.streams));
    is_order_ = false;
  } else {
    auto& queue = queue_[issue.stream];
    stream_[issue.launch] = issue.stream;
    started_[issue.launch] = issue.stream == 0;
    if (!queue.empty()) {
      known_[issue.launch] = known_[queue.back()];
      known_[issue.launch][issue.stream] = rank_[queue.back()];
      started_[issue.launch] = started_[queue.back()];
    }
    for (const int64_t wait : issue.waits) read_wait(issue, wait);
    queue.push_back(issue.launch);
    rank_[issue.launch] = static_cast<int64_t>(queue.size());
    issued_.push_back(issue.launch);
  }
}

void CheckOrder::read_wait(const Issue& issue, int64_t wait) {
  if (wait == kStepStart) {
    started_[issue.launch] = true;
    return;
  }
  if (wait < 0 || wait >= static_cast<int64_t>(rank_.size()) || rank_[static_cast<size_t>(wait)] == 0) {
    report(Fault::kEvent, concat("launch ", issue.launch, " '", step_.launches[issue.launch].name,
                                 "' waits for launch ", wait, ", whose event is not recorded by then"));
    return;
  }
  const auto other = static_cast<uint32_t>(wait);
  auto& known = known_[issue.launch];
  for (size_t s = 0; s < kMaxStreams; ++s) known[s] = std::max(known[s], known_[other][s]);
  known[stream_[other]] = std::max(known[stream_[other]], rank_[other]);
  started_[issue.launch] = started_[issue.launch] || started_[other];
}

void CheckOrder::check_forks() {
  for (const auto& queue : queue_) {
    if (queue.empty() || started_[queue.front()]) continue;
    report(Fault::kFork, concat(describe(queue.front()), " follows neither the step's start nor a launch that does"));
  }
}

void CheckOrder::check_joins() {
  std::array<int64_t, kMaxStreams> ended{};
  const auto take = [&](uint32_t launch) {
    for (size_t s = 0; s < kMaxStreams; ++s) ended[s] = std::max(ended[s], known_[launch][s]);
    ended[stream_[launch]] = std::max(ended[stream_[launch]], rank_[launch]);
  };
  if (!queue_[0].empty()) take(queue_[0].back());
  for (const int64_t join : plan_.joins) {
    if (join >= 0 && join < static_cast<int64_t>(rank_.size())) {
      take(static_cast<uint32_t>(join));
    } else {
      report(Fault::kEvent, concat("the step's end waits for launch ", join, ", the step has ", rank_.size()));
    }
  }
  for (const auto& queue : queue_) {
    if (queue.empty() || ended[stream_[queue.back()]] >= rank_[queue.back()]) continue;
    report(Fault::kJoin, concat("the step's end does not wait for ", describe(queue.back())));
  }
}

bool CheckOrder::Extent::before(const Extent& other) const {
  for (size_t s = 0; s < kMaxStreams; ++s) {
    if (last[s] > other.known[s]) return false;
  }
  return true;
}

void CheckOrder::add(Extent& extent, uint32_t launch) const {
  if (!extent.any) extent.known = known_[launch];
  extent.any = true;
  for (size_t s = 0; s < kMaxStreams; ++s) extent.known[s] = std::min(extent.known[s], known_[launch][s]);
  extent.last[stream_[launch]] = std::max(extent.last[stream_[launch]], rank_[launch]);
}

std::string CheckOrder::describe(uint32_t launch) const {
  return concat("launch ", launch, " '", step_.launches[launch].name, "' on stream ", stream_[launch]);
}

}  // namespace lane
