#include "cpp/cpu/form.h"

#include <chrono>
#include <string>

#include "cpp/cpu/ops.h"

namespace lane::cpu {
namespace {

bool conflict(const Touch& a, const Touch& b) {
  return a.base == b.base && a.offset < b.end && b.offset < a.end && (a.written || b.written);
}

template <class Launch>
std::unique_ptr<Op> decode(const std::int64_t* words, std::int64_t left, Binder& binder) {
  if (left < Launch::kWords) {
    binder.refuse("record", std::to_string(left) + " words", std::to_string(Launch::kWords));
  }
  return bind_launch(Launch::decode(words), binder);
}

struct Kind {
  const char* name;
  std::int64_t words;
  std::unique_ptr<Op> (*bind)(const std::int64_t* words, std::int64_t left, Binder& binder);
};

#define LANE_KIND(Launch) {spec::Launch::kName, spec::Launch::kWords, decode<spec::Launch>},
constexpr Kind kKinds[] = {LANE_LAUNCH_KINDS(LANE_KIND)};
#undef LANE_KIND

}  // namespace

Form::Form(const std::int64_t* words, std::int64_t count, Binder& binder) {
  for (std::int64_t at = 0; at < count; ++launches_) {
    binder.begin(launches_, "?");
    binder.check("kind", words[at], 0, std::ssize(kKinds) - 1);
    const Kind& kind = kKinds[words[at]];
    binder.begin(launches_, kind.name);
    add_steps(kind.bind(words + at + 1, count - at - 1, binder), binder.touches());
    at += 1 + kind.words;
  }
  pending_.clear();
  rules_ = binder.rules();
  external_elems_ = binder.external_elems();
  counters_ = std::make_unique<std::atomic<std::int64_t>[]>(steps_.size());
}

// Steps on thread 0 follow each other without a barrier, and so do launches that share nothing; a launch's own phases
// are always apart.
void Form::add_steps(std::unique_ptr<Op> op, const std::vector<Touch>& touches) {
  if (op == nullptr) return;
  bool all_solo = true;
  for (int phase = 0; phase < op->phases(); ++phase) all_solo = all_solo && op->solo(phase);
  bool barrier = false;
  for (const Touch& touch : touches) {
    for (const Pending& before : pending_) {
      barrier = barrier || (!(all_solo && before.solo) && conflict(touch, before.touch));
    }
  }
  for (int phase = 0; phase < op->phases(); ++phase) {
    const bool apart = phase == 0 ? barrier : !all_solo;
    if (apart) pending_.clear();
    steps_.push_back({op.get(), phase, launches_, op->solo(phase), apart});
  }
  for (const Touch& touch : touches) pending_.push_back({touch, all_solo});
  ops_.push_back(std::move(op));
}

void Form::reset_counters() noexcept {
  for (std::size_t i = 0; i < steps_.size(); ++i) counters_[i].store(0, std::memory_order_relaxed);
}

void Form::run_step(std::size_t i, Worker& worker, int thread, bool alone) noexcept {
  const Step& step = steps_[i];
  if (step.phase == 0) worker.prepared = nullptr;
  if (step.solo) {
    if (thread == 0) step.op->run(worker, step.phase, 0);
    return;
  }
  const std::int64_t tasks = step.op->tasks(worker.bases, step.phase);
  if (alone) {
    for (std::int64_t task = 0; task < tasks; ++task) step.op->run(worker, step.phase, task);
    return;
  }
  while (true) {
    const std::int64_t task = counters_[i].fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks) return;
    step.op->run(worker, step.phase, task);
  }
}

void Form::walk(Team& team, Worker& worker, int thread) noexcept {
  const bool alone = team.threads() == 1;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].barrier) team.barrier();
    run_step(i, worker, thread, alone);
  }
}

void Form::walk_timed(Team& team, Worker& worker, int thread, std::int64_t* times_ns) noexcept {
  using Clock = std::chrono::steady_clock;
  const bool alone = team.threads() == 1;
  auto last = Clock::now();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    run_step(i, worker, thread, alone);
    team.barrier();
    if (thread != 0) continue;
    const auto now = Clock::now();
    times_ns[steps_[i].launch] += std::chrono::duration_cast<std::chrono::nanoseconds>(now - last).count();
    last = now;
  }
}

void Form::check_indices(const Bases& bases) const {
  for (const IndexRule& rule : rules_) {
    const auto* index = resolve<const std::int32_t>(bases, rule.index);
    for (std::int64_t i = 0; i < rule.count; ++i) {
      if (index[i] >= 0 && index[i] <= rule.limit - rule.rows) continue;
      throw Error(ErrorKind::kCapacity, "cpu: launch " + std::to_string(rule.launch) + " (" + rule.kind +
                                            "): " + rule.field + ": found " + std::to_string(index[i]) +
                                            ", allowed 0 to " + std::to_string(rule.limit - rule.rows));
    }
  }
}

}  // namespace lane::cpu
