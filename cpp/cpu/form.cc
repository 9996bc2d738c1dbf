#include "cpp/cpu/form.h"

#include <chrono>
#include <string>
#include <vector>

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
    add_op(kind.bind(words + at + 1, count - at - 1, binder), binder.touches());
    at += 1 + kind.words;
  }
  pending_.clear();
  rules_ = binder.rules();
  external_elems_ = binder.external_elems();
  progress_ = std::make_unique<Progress>(steps_.size());
}

void Form::add_op(std::unique_ptr<Op> op, const std::vector<Touch>& touches) {
  for (const Touch& touch : touches) touches_state_ = touches_state_ || touch.base == kStateBase;
  if (op == nullptr) return;
  bool solo = true;
  for (int phase = 0; phase < op->phases(); ++phase) solo = solo && op->solo(phase);
  if (solo) {
    add_solo(op.get(), touches);
  } else {
    add_shared(op.get(), touches);
  }
  for (const Touch& touch : touches) pending_.push_back({touch, steps_.size() - 1});
  ops_.push_back(std::move(op));
}

// Joins the solo step before it, if there is one: then that step waits for what either needs.
void Form::add_solo(const Op* op, const std::vector<Touch>& touches) {
  if (steps_.empty() || !steps_.back().solo) steps_.push_back({{}, true});
  const std::size_t last = steps_.size() - 1;
  for (int phase = 0; phase < op->phases(); ++phase) steps_[last].parts.push_back({op, phase, launches_});
  if (conflicts(touches, last)) make_wait(last);
}

// A step a phase, each after the one before.
void Form::add_shared(const Op* op, const std::vector<Touch>& touches) {
  for (int phase = 0; phase < op->phases(); ++phase) {
    steps_.push_back({{{op, phase, launches_}}, false});
    if (phase > 0 || conflicts(touches, steps_.size() - 1)) make_wait(steps_.size() - 1);
  }
}

bool Form::conflicts(const std::vector<Touch>& touches, std::size_t except) const {
  for (const Touch& touch : touches) {
    for (const Pending& before : pending_) {
      if (before.step != except && conflict(touch, before.touch)) return true;
    }
  }
  return false;
}

void Form::make_wait(std::size_t step) {
  if (!steps_[step].waits) steps_[step].since = since_;
  steps_[step].waits = true;
  since_ = step;
  std::erase_if(pending_, [step](const Pending& before) { return before.step < step; });
}

void Form::run_some(Worker& worker, std::int64_t first, std::int64_t end) const noexcept {
  for (const Step& step : steps_) {
    for (const Part& part : step.parts) {
      if (part.launch < first || part.launch >= end) continue;
      if (part.phase == 0) worker.prepared = nullptr;
      const std::int64_t tasks = part.op->tasks(worker.bases, part.phase);
      for (std::int64_t task = 0; task < tasks; ++task) part.op->run(worker, part.phase, task);
    }
  }
}

void Form::begin_round(const Bases& bases) noexcept {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Part& first = steps_[i].parts.front();
    progress_->set_tasks(i, steps_[i].solo ? 1 : first.op->tasks(bases, first.phase));
  }
  progress_->begin_round();
}

void Form::run_tasks(std::size_t step, Worker& worker, std::uint32_t round) noexcept {
  if (steps_[step].parts.front().phase == 0) worker.prepared = nullptr;
  std::int64_t task = 0;
  while (progress_->claim(step, round, task)) {
    for (const Part& part : steps_[step].parts) part.op->run(worker, part.phase, task);
    progress_->finish(step);
  }
}

bool Form::await_round(Team& team, std::uint32_t round, int thread) const noexcept {
  return progress_->await_round(round, [&] { return team.settle(thread); });
}

void Form::walk(Team& team, Worker& worker, std::uint32_t round, int thread) noexcept {
  const auto await_steps = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) progress_->await_step(i, round, [&] { return team.settle(thread); });
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].waits) await_steps(steps_[i].since, i);
    run_tasks(i, worker, round);
  }
  if (thread == 0) await_steps(since_, steps_.size());
}

void Form::walk_timed(Team& team, Worker& worker, std::uint32_t round, int thread, std::int64_t* times_ns) noexcept {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  const auto time = [&](std::int64_t launch) {
    const auto now = Clock::now();
    times_ns[launch] += std::chrono::duration_cast<std::chrono::nanoseconds>(now - last).count();
    last = now;
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].solo) {
      run_tasks(i, worker, round);
    } else if (thread == 0) {
      for (const Part& part : steps_[i].parts) {
        part.op->run(worker, part.phase, 0);
        time(part.launch);
      }
    }
    team.barrier(thread);
    if (thread == 0) time(steps_[i].parts.back().launch);
    team.barrier(thread);  // none begins the next step before this one's time is taken
    if (thread == 0) last = Clock::now();
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
