#include "cpp/cpu/team.h"

#include <sched.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace lane::cpu {
namespace {

// Spins are pauses of tens of cycles: some ten microseconds, longer than the work that threads usually wait for. A
// yield costs about a microsecond. Past both, another process holds the processor and sleep is right.
constexpr int kSpins = 1000;
constexpr int kYields = 100;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns when `value` is no longer `old`.
void await_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) noexcept {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  for (int i = 0; i < kYields; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    sched_yield();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct Team::Pool {
  pid_t process = getpid();
  std::atomic<std::uint32_t> runs{0};  // counts up when a run begins, and once more to stop
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;
};

Team::Team(int threads) : threads_(threads) {}

Team::~Team() {
  if (pool_ == nullptr) return;
  if (pool_->process != getpid()) {
    (void)pool_.release();  // in a forked child: the threads are the parent's, there is nothing to join
    return;
  }
  pool_->stopping.store(true, std::memory_order_relaxed);
  pool_->runs.fetch_add(1, std::memory_order_release);
  pool_->runs.notify_all();
  for (std::thread& thread : pool_->threads) thread.join();
}

void Team::start_pool() {
  if (pool_ != nullptr && pool_->process != getpid()) (void)pool_.release();
  if (pool_ != nullptr) return;
  arrived_.store(0, std::memory_order_relaxed);
  pool_ = std::make_unique<Pool>();
  Pool& pool = *pool_;
  for (int i = 1; i < threads_; ++i) pool.threads.emplace_back([this, &pool, i] { worker(pool, i); });
}

void Team::worker(Pool& pool, int thread) noexcept {
  for (std::uint32_t seen = 0;; ++seen) {
    pool.runs.wait(seen, std::memory_order_acquire);
    if (pool.stopping.load(std::memory_order_relaxed)) return;
    job_(work_, thread);
    barrier();
  }
}

void Team::run_job(Job job, void* work) {
  if (threads_ == 1) {
    job(work, 0);
    return;
  }
  start_pool();
  job_ = job;
  work_ = work;
  pool_->runs.fetch_add(1, std::memory_order_release);
  pool_->runs.notify_all();
  job(work, 0);
  barrier();
}

void Team::barrier() noexcept {
  if (threads_ == 1) return;
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(threads_)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    generation_.notify_all();
    return;
  }
  await_change(generation_, generation);
}

}  // namespace lane::cpu
