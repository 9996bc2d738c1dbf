#include "cpp/cpu/progress.h"

namespace lane::cpu {

void Progress::set_tasks(std::size_t step, std::int64_t tasks) noexcept {
  const std::uint64_t all = std::uint64_t{next_round()} << 32 | static_cast<std::uint32_t>(tasks);
  counts_[step].unfinished.store(all, std::memory_order_relaxed);
  // A late thread of an earlier round may read this before the round begins; it then only leaves.
  counts_[step].unclaimed.store(all, std::memory_order_release);
}

void Progress::advance(bool ended) noexcept {
  ended_.store(ended, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

bool Progress::claim(std::size_t step, std::uint32_t round, std::int64_t& task) noexcept {
  std::atomic<std::uint64_t>& unclaimed = counts_[step].unclaimed;
  std::uint64_t seen = unclaimed.load(std::memory_order_acquire);
  while (round_of(seen) == round && count_of(seen) > 0) {
    if (unclaimed.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      task = count_of(seen) - 1;
      return true;
    }
  }
  return false;
}

void Progress::finish(std::size_t step) noexcept {
  std::atomic<std::uint64_t>& unfinished = counts_[step].unfinished;
  if (count_of(unfinished.fetch_sub(1, std::memory_order_acq_rel)) == 1) unfinished.notify_all();
}

}  // namespace lane::cpu
