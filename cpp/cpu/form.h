// A form ready to run: its launches as ops in order, with a barrier only where a launch touches what threads may still
// be writing or reading.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cpp/cpu/binder.h"
#include "cpp/cpu/op.h"
#include "cpp/cpu/team.h"

namespace lane::cpu {

class Form {
 public:
  // `words`: for each launch its kind's number, then its record.
  Form(const std::int64_t* words, std::int64_t count, Binder& binder);

  // One step, called by every thread of the team. What launches count their tasks with must be zero.
  void walk(Team& team, Worker& worker, int thread) noexcept;

  // The same, a barrier after every launch; `times_ns` (written by thread 0) holds one entry a launch.
  void walk_timed(Team& team, Worker& worker, int thread, std::int64_t* times_ns) noexcept;

  void reset_counters() noexcept;

  // lane::Error if a position or an index is outside its table.
  void check_indices(const Bases& bases) const;

  std::int64_t launches() const { return launches_; }
  const std::vector<std::int64_t>& external_elems() const { return external_elems_; }

 private:
  // One phase of one launch.
  struct Step {
    const Op* op;
    int phase;
    std::int64_t launch;
    bool solo;
    bool barrier;  // before it
  };

  void add_steps(std::unique_ptr<Op> op, const std::vector<Touch>& touches);
  void run_step(std::size_t i, Worker& worker, int thread, bool alone) noexcept;

  std::int64_t launches_ = 0;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<Step> steps_;
  std::unique_ptr<std::atomic<std::int64_t>[]> counters_;
  std::vector<IndexRule> rules_;
  std::vector<std::int64_t> external_elems_;

  struct Pending {
    Touch touch;
    bool solo;
  };
  std::vector<Pending> pending_;  // while building: what was touched since the last barrier
};

}  // namespace lane::cpu
