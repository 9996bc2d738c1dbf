// A fixed team of threads that run one function together, the caller being thread 0.
//
// Between runs the others sleep. Within a run they meet at barriers: a short spin, since the next launch is usually
// microseconds away, then the processor is given up, then sleep, so that a busy machine is not made busier. A team used
// in a forked child starts its threads anew there. One run at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

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
  void barrier() noexcept;

 private:
  using Job = void (*)(void*, int) noexcept;
  struct Pool;  // the threads, and what they sleep on

  void run_job(Job job, void* work);
  void start_pool();
  void worker(Pool& pool, int thread) noexcept;

  const int threads_;
  std::unique_ptr<Pool> pool_;
  Job job_ = nullptr;
  void* work_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

}  // namespace lane::cpu
