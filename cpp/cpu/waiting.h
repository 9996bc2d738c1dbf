// How a thread waits for another: a short spin, since it is usually done in a microsecond; then it looks to where it
// runs, as the two may share a processor; then the processor is given up; then sleep, so that a busy machine is not
// made busier. Whoever changes the value notifies.
#pragma once

#include <atomic>

namespace lane::cpu {

// Pauses the processor for some tens of cycles.
void pause_briefly() noexcept;
void give_up_processor() noexcept;

// Returns when ready(value) holds; what was written before the value that made it so is then visible. `move()`: called
// when the wait is long; true if it moved this thread to another processor.
template <class T, class Ready, class Move>
void await(const std::atomic<T>& value, Ready ready, Move move) noexcept {
  // Some ten microseconds of spinning, longer than most waits; yields of about a microsecond each. Past both, another
  // process holds the processor.
  constexpr int kSpins = 1000, kYields = 100;
  const auto poll = [&](int times, void (*between)() noexcept) {
    for (int i = 0; i < times; ++i) {
      if (ready(value.load(std::memory_order_acquire))) return true;
      between();
    }
    return false;
  };
  if (poll(kSpins, pause_briefly)) return;
  if (move() && poll(kSpins, pause_briefly)) return;
  if (poll(kYields, give_up_processor)) return;
  while (true) {
    const T seen = value.load(std::memory_order_acquire);
    if (ready(seen)) return;
    value.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace lane::cpu
