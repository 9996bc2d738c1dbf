// A fixed team of threads that run one function together, the caller being thread 0.
//
// Threads wait for each other as waiting.h says, between runs too. A team used in a forked child starts its threads
// anew there. One run at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "cpp/cpu/placement.h"

namespace lane::cpu {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return threads_; }

  // Calls work(thread) on every thread and returns when all have. What can fail is checked before: work does not throw.
  template <class Work>
  void run(Work& work) {
    static_assert(std::is_nothrow_invocable_v<Work&, int>, "a team's work must be noexcept");
    run_job([](void* w, int thread) noexcept { (*static_cast<Work*>(w))(thread); }, &work);
  }

  // Returns when every thread of the team has called it; what any of them wrote before is then visible to all.
  void barrier(int thread) noexcept;

  // For a thread that has waited long: moves it if it shares its processor with another of the team. True if it did.
  bool settle(int thread) noexcept { return placement_.settle(thread); }

 private:
  using Job = void (*)(void*, int) noexcept;
  struct Pool;  // the threads, and what they sleep on

  void run_job(Job job, void* work);
  void start_pool();
  void worker(Pool& pool, int thread) noexcept;

  const int threads_;
  Placement placement_;
  std::unique_ptr<Pool> pool_;
  Job job_ = nullptr;
  void* work_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

}  // namespace lane::cpu
