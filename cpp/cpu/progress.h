// How far each step of a form has come in the present round of a run, so that a thread goes on when the work that it
// needs is done, and not when every thread has come by: one that the system has put aside holds nobody up unless it
// holds a task.
//
// A step's tasks are claimed one at a time, the last first, by whoever comes. Once its unfinished count is zero, what
// its tasks wrote is visible to whoever saw that. Each count carries its round: a late thread that finds another's
// knows that its own is over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpp/cpu/waiting.h"

namespace lane::cpu {

class Progress {
 public:
  explicit Progress(std::size_t steps) : counts_(std::make_unique<Counts[]>(steps)) {}

  // For one thread, while no round is on: the next round's number; its steps' tasks, each step once; that it begins, or
  // that no other will.
  std::uint32_t next_round() const noexcept { return round_.load(std::memory_order_relaxed) + 1; }
  void set_tasks(std::size_t step, std::int64_t tasks) noexcept;
  void begin_round() noexcept { advance(false); }
  void end_rounds() noexcept { advance(true); }

  // For the others: returns when the round has begun (true) or no other will (false). `move` as in waiting.h.
  template <class Move>
  bool await_round(std::uint32_t round, Move move) const noexcept {
    await(round_, [round](std::uint32_t now) { return static_cast<std::int32_t>(now - round) >= 0; }, move);
    return !(ended_.load(std::memory_order_relaxed) && round_.load(std::memory_order_relaxed) == round);
  }

  // Gives a task of the step that nobody has had. False: there is none left in this round.
  bool claim(std::size_t step, std::uint32_t round, std::int64_t& task) noexcept;
  void finish(std::size_t step) noexcept;
  // Returns when all of the step's tasks are finished.
  template <class Move>
  void await_step(std::size_t step, std::uint32_t round, Move move) const noexcept {
    const auto over = [round](std::uint64_t now) { return round_of(now) != round || count_of(now) == 0; };
    await(counts_[step].unfinished, over, move);
  }

 private:
  // The round in the upper half, a count of tasks in the lower.
  struct Counts {
    std::atomic<std::uint64_t> unclaimed{0}, unfinished{0};
  };

  static std::uint32_t round_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
  static std::uint32_t count_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

  void advance(bool ended) noexcept;

  std::unique_ptr<Counts[]> counts_;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace lane::cpu
