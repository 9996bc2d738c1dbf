// Keeps a team's threads on processors of their own. Some systems wake a thread on its waker's processor, or pack
// threads on few processors, and leave them there for many milliseconds; two threads that wait for each other then take
// turns.
//
// A thread notes where it runs; one that finds itself beside another of its team moves to an allowed processor that
// none of them is on, and stays as free to be moved as it was. Where the system has no such calls, nothing happens.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace lane::cpu {

class Placement {
 public:
  explicit Placement(int threads);

  // Called by a thread of the team: notes its processor, and moves it if another of the team is there. True if it
  // moved.
  bool settle(int thread) noexcept;

 private:
  bool taken(int processor, int except) const noexcept;

  struct Seat {
    std::atomic<int> processor{-1};     // -1: not known
    std::int64_t moved_ns = INT64_MIN;  // when its thread last moved
  };

  int threads_;
  std::unique_ptr<Seat[]> seats_;
};

}  // namespace lane::cpu
