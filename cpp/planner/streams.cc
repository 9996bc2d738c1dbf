#include "cpp/planner/streams.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cpp/planner/clocks.h"
#include "cpp/planner/concat.h"
#include "cpp/planner/dependences.h"
#include "cpp/runtime/error.h"

namespace lane {
namespace {

using Dependences = std::vector<std::vector<uint32_t>>;

void check(const Step& step, const StreamOptions& options) {
  const auto refuse = [](const std::string& what, double found, const std::string& allowed) {
    throw Error(ErrorKind::kUsage, concat("streams: ", what, ": found ", found, ", allowed ", allowed));
  };
  if (options.most_streams < 1 || options.most_streams > kMaxStreams) {
    refuse("number", static_cast<double>(options.most_streams), concat("1 to ", kMaxStreams));
  }
  if (!(options.event_us >= 0)) refuse("an event's time in µs", options.event_us, "0 or more");
  for (const StepLaunch& launch : step.launches) {
    if (!(launch.alone_us >= 0)) refuse(concat("launch '", launch.name, "': time in µs"), launch.alone_us, "0 or more");
    if (!(launch.share >= 0 && launch.share <= 1)) {
      refuse(concat("launch '", launch.name, "': share of the device"), launch.share, "0 to 1");
    }
  }
}

// Chooses streams in program order, each launch where by a rough clock it ends first.
class Chooser {
 public:
  Chooser(const Step& step, const Dependences& follows, size_t streams, double event_us)
      : step_(step),
        follows_(follows),
        event_us_(event_us),
        streams_(streams),
        stream_(step.launches.size()),
        end_us_(step.launches.size()) {}

  std::vector<uint32_t> run() {
    for (uint32_t launch = 0; launch < step_.launches.size(); ++launch) choose(launch);
    return stream_;
  }

 private:
  struct Stream {
    double free_us = 0;   // when its last launch ends
    double start_us = 0;  // when that began
    double share = 0;     // of that launch
  };

  void choose(uint32_t launch) {
    uint32_t best = 0;
    double best_us = end_on(launch, 0);
    // What joins a side launch again waits for one more event.
    for (uint32_t s = 1; s < streams_.size(); ++s) {
      const double us = end_on(launch, s);
      if (us + event_us_ < best_us) {
        best = s;
        best_us = us;
      }
    }
    stream_[launch] = best;
    end_us_[launch] = best_us;
    streams_[best] = {best_us, start_on(launch, best), step_.launches[launch].share};
  }

  double start_on(uint32_t launch, uint32_t stream) const {
    double start = std::max(streams_[stream].free_us, stream == 0 ? 0 : event_us_);
    for (const uint32_t earlier : follows_[launch]) {
      start = std::max(start, end_us_[earlier] + (stream_[earlier] == stream ? 0 : event_us_));
    }
    return start;
  }

  double end_on(uint32_t launch, uint32_t stream) const {
    const double start = start_on(launch, stream);
    double shares = step_.launches[launch].share;
    for (uint32_t s = 0; s < streams_.size(); ++s) {
      if (s != stream && streams_[s].start_us <= start && start < streams_[s].free_us) shares += streams_[s].share;
    }
    return start + step_.launches[launch].alone_us * std::max(1.0, shares);
  }

  const Step& step_;
  const Dependences& follows_;
  const double event_us_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> stream_;
  std::vector<double> end_us_;
};

// Adds to `waits` those of the launches which do not yet come before, and lets `wait` order them. The latest go first:
// a launch that comes before another one waited for is then ordered already.
template <typename Ordered, typename Wait>
void add_waits(std::vector<uint32_t> launches, const Ordered& ordered, const Wait& wait, std::vector<int64_t>& waits) {
  std::ranges::sort(launches, std::ranges::greater{});
  for (const uint32_t launch : launches) {
    if (ordered(launch)) continue;
    wait(launch);
    waits.push_back(launch);
  }
  std::ranges::reverse(waits);
}

StreamPlan with_waits(const std::vector<uint32_t>& stream, const Dependences& follows) {
  StreamPlan plan;
  Clocks clocks(stream.size());
  std::vector<int64_t> last(kMaxStreams, kStepStart);  // by stream
  for (uint32_t launch = 0; launch < stream.size(); ++launch) {
    Issue issue{launch, stream[launch], {}};
    clocks.issue(launch, issue.stream);
    add_waits(
        follows[launch], [&](uint32_t other) { return clocks.before(other, launch); },
        [&](uint32_t other) { clocks.wait(launch, other); }, issue.waits);
    const bool forks = issue.stream != 0 && last[issue.stream] == kStepStart && issue.waits.empty();
    if (forks) issue.waits.push_back(kStepStart);
    last[issue.stream] = launch;
    plan.streams = std::max<size_t>(plan.streams, issue.stream + 1);
    plan.issues.push_back(std::move(issue));
  }
  std::vector<uint32_t> ends;
  for (size_t s = 1; s < kMaxStreams; ++s) {
    if (last[s] != kStepStart) ends.push_back(static_cast<uint32_t>(last[s]));
  }
  Counts end = clocks.at_end(0);
  add_waits(
      ends, [&](uint32_t other) { return end[clocks.stream(other)] > clocks.place(other); },
      [&](uint32_t other) {
        for (size_t s = 0; s < kMaxStreams; ++s) end[s] = std::max(end[s], clocks.before(other)[s]);
        end[clocks.stream(other)] = clocks.place(other) + 1;
      },
      plan.joins);
  return plan;
}

}  // namespace

StreamPlan one_stream(const Step& step) {
  return with_waits(std::vector<uint32_t>(step.launches.size(), 0), Dependences(step.launches.size()));
}

StreamPlan plan_on_streams(const Step& step, const std::vector<uint32_t>& streams) {
  return with_waits(streams, dependences(step));
}

StreamPlan plan_streams(const Step& step, const StreamOptions& options) {
  check(step, options);
  StreamPlan best = one_stream(step);
  if (options.most_streams == 1) return best;
  const Dependences follows = dependences(step);
  double best_us = simulate_us(step, best, options.event_us);
  for (size_t streams = 2; streams <= options.most_streams; ++streams) {
    StreamPlan plan = with_waits(Chooser(step, follows, streams, options.event_us).run(), follows);
    const double us = simulate_us(step, plan, options.event_us);
    if (us > best_us * (1 - options.least_gain)) continue;
    best = std::move(plan);
    best_us = us;
  }
  return best;
}

}  // namespace lane
