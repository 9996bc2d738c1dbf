#include "cpp/cpu/placement.h"

#include <chrono>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lane::cpu {

Placement::Placement(int threads) : threads_(threads), seats_(std::make_unique<Seat[]>(threads)) {}

bool Placement::taken(int processor, int except) const noexcept {
  for (int i = 0; i < threads_; ++i) {
    if (i != except && seats_[i].processor.load(std::memory_order_relaxed) == processor) return true;
  }
  return false;
}

#if defined(__linux__)

// Between two moves of a thread: a hundred times what one costs.
constexpr std::int64_t kRestNs = 50'000'000;

bool Placement::settle(int thread) noexcept {
  const int here = sched_getcpu();
  seats_[thread].processor.store(here, std::memory_order_relaxed);
  if (here < 0 || !taken(here, thread)) return false;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (seats_[thread].moved_ns > now - kRestNs) return false;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int there = 0; there < CPU_SETSIZE; ++there) {
    if (!CPU_ISSET(there, &allowed) || taken(there, thread)) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(there, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0) return false;
    sched_setaffinity(0, sizeof allowed, &allowed);
    seats_[thread].moved_ns = now;
    seats_[thread].processor.store(there, std::memory_order_relaxed);
    return true;
  }
  return false;
}

#else

bool Placement::settle(int) noexcept { return false; }

#endif

}  // namespace lane::cpu
