#include "cpp/cpu/form.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpp/cpu/ops.h"

namespace lane::cpu {
namespace {

bool conflict(const Footprint& a, const Footprint& b) {
  return a.base == b.base && a.offset < b.end && b.offset < a.end && (a.written || b.written);
}

std::string listed(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "none" : text;
}

// Every word taken, every ordinal one that there is.
void check_record(const spec::Words& words, const Binder& binder) {
  if (!words.whole) binder.refuse("record", "fewer words than its fields", "all of them");
  if (words.odd != nullptr) binder.check(words.odd, words.odd_value, 0, words.odd_limit - 1);
}

template <class Launch>
void check_options(const Launch& launch, const Binder& binder) {
  const std::vector<const char*> taken = CpuKind<Launch>::kOptions;
  launch.each_option([&](const char* option, bool used) {
    const auto same = [option](const char* name) { return std::string_view(name) == option; };
    if (used && std::none_of(taken.begin(), taken.end(), same)) binder.lack(option, "it in use", listed(taken));
  });
}

template <class Launch>
std::unique_ptr<Op> bind(spec::Words& words, Binder& binder) {
  const Launch launch = Launch::decode(words);
  check_record(words, binder);
  if constexpr (CpuKind<Launch>::kHas) {
    check_options(launch, binder);
    return bind_launch(launch, binder);
  } else {
    std::vector<const char*> names;
    for (const KindKernel& kernel : kind_kernels()) names.push_back(kernel.name);
    binder.lack("kind", "one without a kernel on the CPU", listed(names));
  }
}

struct Kind {
  const char* name;
  std::unique_ptr<Op> (*bind)(spec::Words& words, Binder& binder);
};

#define LANE_KIND(Launch) {spec::Launch::kName, bind<spec::Launch>},
constexpr Kind kKinds[] = {LANE_LAUNCH_KINDS(LANE_KIND)};
#undef LANE_KIND

// Binds launch by launch; `add` takes each one's op.
template <class Add>
void bind_all(const std::int64_t* words, std::int64_t count, Binder& binder, Add add) {
  spec::Words left = {words, words + count};
  for (std::int64_t launch = 0; left.at != left.end; ++launch) {
    binder.begin(launch, "?", spec::kNone);
    const std::int64_t number = left.next();
    binder.check("kind", number, 0, std::ssize(kKinds) - 1);
    const Kind& kind = kKinds[number];
    binder.begin(launch, kind.name, left.ref());
    add(kind.bind(left, binder));
  }
}

}  // namespace

Form::Form(const std::int64_t* words, std::int64_t count, Binder& binder) {
  bind_all(words, count, binder, [&](std::unique_ptr<Op> op) {
    add_op(std::move(op), binder.footprints());
    ++launches_;
  });
  pending_.clear();
  rules_ = binder.rules();
  external_elems_ = binder.external_elems();
  progress_ = std::make_unique<Progress>(steps_.size());
}

std::vector<Needs> measure(const std::int64_t* words, std::int64_t count, Binder& binder) {
  std::vector<Needs> needs;
  bind_all(words, count, binder, [&](std::unique_ptr<Op>) { needs.push_back(binder.needs()); });
  return needs;
}

std::vector<KindKernel> kind_kernels() {
  std::vector<KindKernel> kernels;
#define LANE_KIND(Launch, ...) kernels.push_back({spec::Launch::kName, CpuKind<spec::Launch>::kOptions});
  LANE_CPU_KINDS(LANE_KIND)
#undef LANE_KIND
  return kernels;
}

void Form::add_op(std::unique_ptr<Op> op, const std::vector<Footprint>& touched) {
  for (const Footprint& bytes : touched) touches_state_ = touches_state_ || bytes.base == kStateBase;
  if (op == nullptr) return;
  bool solo = true;
  for (int phase = 0; phase < op->phases(); ++phase) solo = solo && op->solo(phase);
  if (solo) {
    add_solo(op.get(), touched);
  } else {
    add_shared(op.get(), touched);
  }
  for (const Footprint& bytes : touched) pending_.push_back({bytes, steps_.size() - 1});
  ops_.push_back(std::move(op));
}

// Joins the solo step before it, if there is one: then that step waits for what either needs.
void Form::add_solo(const Op* op, const std::vector<Footprint>& touched) {
  if (steps_.empty() || !steps_.back().solo) steps_.push_back({{}, true});
  const std::size_t last = steps_.size() - 1;
  for (int phase = 0; phase < op->phases(); ++phase) steps_[last].phases.push_back({op, phase, launches_});
  if (conflicts(touched, last)) make_wait(last);
}

// A step a phase, each after the one before.
void Form::add_shared(const Op* op, const std::vector<Footprint>& touched) {
  for (int phase = 0; phase < op->phases(); ++phase) {
    steps_.push_back({{{op, phase, launches_}}, false});
    if (phase > 0 || conflicts(touched, steps_.size() - 1)) make_wait(steps_.size() - 1);
  }
}

bool Form::conflicts(const std::vector<Footprint>& touched, std::size_t except) const {
  for (const Footprint& bytes : touched) {
    for (const Pending& before : pending_) {
      if (before.step != except && conflict(bytes, before.touched)) return true;
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
    for (const Phase& phase : step.phases) {
      if (phase.launch < first || phase.launch >= end) continue;
      if (phase.number == 0) worker.prepared = nullptr;
      const std::int64_t tasks = phase.op->tasks(worker.bases, phase.number);
      for (std::int64_t task = 0; task < tasks; ++task) phase.op->run(worker, phase.number, task);
    }
  }
}

void Form::begin_round(const Bases& bases) noexcept {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Phase& first = steps_[i].phases.front();
    progress_->set_tasks(i, steps_[i].solo ? 1 : first.op->tasks(bases, first.number));
  }
  progress_->begin_round();
}

void Form::run_tasks(std::size_t step, Worker& worker, std::uint32_t round) noexcept {
  if (steps_[step].phases.front().number == 0) worker.prepared = nullptr;
  std::int64_t task = 0;
  while (progress_->claim(step, round, task)) {
    for (const Phase& phase : steps_[step].phases) phase.op->run(worker, phase.number, task);
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
      for (const Phase& phase : steps_[i].phases) {
        phase.op->run(worker, phase.number, 0);
        time(phase.launch);
      }
    }
    team.barrier(thread);
    if (thread == 0) time(steps_[i].phases.back().launch);
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
