#include "cpp/cpu/team.h"

#include <unistd.h>

#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "cpp/cpu/waiting.h"
#include "cpp/runtime/error.h"

namespace lane::cpu {
struct Team::Pool {
  pid_t process = getpid();
  std::atomic<std::uint32_t> runs{0};  // counts up when a run begins, and once more to stop
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;

  void stop() {
    stopping.store(true, std::memory_order_relaxed);
    runs.fetch_add(1, std::memory_order_release);
    runs.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
};

Team::Team(int threads) : threads_(threads), placement_(threads) {}

Team::~Team() {
  if (pool_ == nullptr) return;
  if (pool_->process == getpid()) {
    pool_->stop();
  } else {
    (void)pool_.release();  // in a forked child: the threads are the parent's, there is nothing to join
  }
}

void Team::start_pool() {
  if (pool_ != nullptr && pool_->process == getpid()) return;
  (void)pool_.release();
  arrived_.store(0, std::memory_order_relaxed);
  auto pool = std::make_unique<Pool>();
  try {
    for (int i = 1; i < threads_; ++i) {
      pool->threads.emplace_back([this, &started = *pool, i] { worker(started, i); });
    }
  } catch (const std::system_error&) {
    const std::size_t found = pool->threads.size() + 1;
    pool->stop();
    throw Error(ErrorKind::kCapacity,
                "cpu: threads: found " + std::to_string(found) + ", wanted " + std::to_string(threads_));
  }
  pool_ = std::move(pool);
}

void Team::worker(Pool& pool, int thread) noexcept {
  for (std::uint32_t seen = 0;; ++seen) {
    await(pool.runs, [seen](std::uint32_t runs) { return runs != seen; }, [] { return false; });
    if (pool.stopping.load(std::memory_order_relaxed)) return;
    settle(thread);
    job_(work_, thread);
    barrier(thread);
  }
}

void Team::run_job(Job job, void* work) {
  if (threads_ == 1) {
    job(work, 0);
    return;
  }
  start_pool();
  settle(0);
  job_ = job;
  work_ = work;
  pool_->runs.fetch_add(1, std::memory_order_release);
  pool_->runs.notify_all();
  job(work, 0);
  barrier(0);
}

void Team::barrier(int thread) noexcept {
  if (threads_ == 1) return;
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(threads_)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    generation_.notify_all();
    return;
  }
  const auto passed = [generation](std::uint32_t now) { return now != generation; };
  await(generation_, passed, [this, thread] { return settle(thread); });
}

}  // namespace lane::cpu
