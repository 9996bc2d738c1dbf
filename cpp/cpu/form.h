// A form ready to run: its launches as ops, cut into steps; a step waits for earlier ones only where it touches what
// they may still be writing or reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpp/cpu/binder.h"
#include "cpp/cpu/op.h"
#include "cpp/cpu/progress.h"
#include "cpp/cpu/team.h"

namespace lane::cpu {

class Form {
 public:
  // `words`: for each launch its kind's number, its scratch, then its record.
  Form(const std::int64_t* words, std::int64_t count, Binder& binder);

  // One run of the launches, on one thread; or of those from `first` up to `end`.
  void run_alone(Worker& worker) const noexcept { run_some(worker, 0, launches_); }
  void run_some(Worker& worker, std::int64_t first, std::int64_t end) const noexcept;

  // Rounds, each one run of the launches by a team. Thread 0 begins a round when the one before is over, or ends them
  // all; the others await it; all walk it. Thread 0's walk returns when the round is over, the others' may before.
  std::uint32_t next_round() const noexcept { return progress_->next_round(); }
  void begin_round(const Bases& bases) noexcept;
  void end_rounds() noexcept { progress_->end_rounds(); }
  bool await_round(Team& team, std::uint32_t round, int thread) const noexcept;
  void walk(Team& team, Worker& worker, std::uint32_t round, int thread) noexcept;

  // The same, the team in step: after every launch all meet. `times_ns` (written by thread 0) holds one entry a launch.
  void walk_timed(Team& team, Worker& worker, std::uint32_t round, int thread, std::int64_t* times_ns) noexcept;

  // lane::Error if a position or an index is outside its table.
  void check_indices(const Bases& bases) const;

  std::int64_t launches() const { return launches_; }
  bool touches_state() const { return touches_state_; }  // a sequence's own memory
  const std::vector<std::int64_t>& external_elems() const { return external_elems_; }

 private:
  // A phase of a launch, by its number.
  struct Phase {
    const Op* op;
    int number;
    std::int64_t launch;
  };

  // What threads share the tasks of: one phase; or phases of one task each, that one thread runs one after the other.
  struct Step {
    std::vector<Phase> phases;
    bool solo;
    bool waits = false;  // for the steps from `since` on; those before it are done when it begins
    std::size_t since = 0;
  };

  // While building: what steps touched since the last that waits.
  struct Pending {
    Footprint touched;
    std::size_t step;
  };

  void add_op(std::unique_ptr<Op> op, const std::vector<Footprint>& touched);
  void add_solo(const Op* op, const std::vector<Footprint>& touched);
  void add_shared(const Op* op, const std::vector<Footprint>& touched);
  bool conflicts(const std::vector<Footprint>& touched, std::size_t except) const;
  void make_wait(std::size_t step);
  void run_tasks(std::size_t step, Worker& worker, std::uint32_t round) noexcept;

  std::int64_t launches_ = 0;
  bool touches_state_ = false;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<Step> steps_;
  std::unique_ptr<Progress> progress_;
  std::vector<IndexRule> rules_;
  std::vector<std::int64_t> external_elems_;
  std::vector<Pending> pending_;
  std::size_t since_ = 0;
};

// What each launch of a form's words needs, of a binder that measures.
std::vector<Needs> measure(const std::int64_t* words, std::int64_t count, Binder& binder);

// The kinds that have a kernel, and the options that those take.
struct KindKernel {
  const char* name;
  std::vector<const char*> options;
};
std::vector<KindKernel> kind_kernels();

}  // namespace lane::cpu
