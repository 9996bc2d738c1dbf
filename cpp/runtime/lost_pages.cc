#include "cpp/runtime/lost_pages.h"

#ifndef LANE_NO_LOST_PAGES

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace lane {

// The handler walks the slots at any time, on any thread: they are linked once, used again, and never freed.
struct WatchedRange::Slot {
  std::atomic<bool> taken = true;
  std::atomic<uintptr_t> begin = 0;
  std::atomic<uintptr_t> end = 0;  // 0: nothing is watched
  std::atomic<bool> lost = false;
  Slot* next = nullptr;
};

namespace {

using Slot = WatchedRange::Slot;

std::atomic<Slot*> slots = nullptr;
struct sigaction previous;
uintptr_t page_bytes;  // taken before the handler is: sysconf is not for handlers

Slot* slot_at(uintptr_t address) {
  for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
    if (slot->begin <= address && address < slot->end) return slot;
  }
  return nullptr;
}

// Zeros from the page that was read to the range's end.
bool replace(Slot& slot, uintptr_t address) {
  const uintptr_t start = address / page_bytes * page_bytes;
  slot.lost = true;
  return ::mmap(reinterpret_cast<void*>(start), slot.end - start, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0) != MAP_FAILED;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    ::sigaction(signal, &previous, nullptr);  // the read is done again, and ends as if there were no handler
  } else {
    previous.sa_handler(signal);
  }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Slot* slot = info->si_code > 0 ? slot_at(address) : nullptr;  // not for one that a process sent
  if (slot == nullptr || !replace(*slot, address)) pass_on(signal, info, context);
  errno = error;
}

void take_signal() {
  page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous);
}

Slot* take_slot() {
  for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
    if (!slot->taken.exchange(true)) return slot;
  }
  auto* slot = new Slot;
  slot->next = slots;
  while (!slots.compare_exchange_weak(slot->next, slot)) {
  }
  return slot;
}

}  // namespace

WatchedRange::WatchedRange(std::span<const std::byte> bytes) {
  static std::once_flag taken;
  std::call_once(taken, take_signal);
  slot_ = take_slot();
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  slot_->lost = false;
  slot_->begin = begin;
  slot_->end = begin + bytes.size();
}

WatchedRange::WatchedRange(WatchedRange&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

WatchedRange& WatchedRange::operator=(WatchedRange&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

WatchedRange::~WatchedRange() {
  if (slot_ == nullptr) return;
  slot_->end = 0;
  slot_->taken = false;
}

bool WatchedRange::lost() const { return slot_ != nullptr && slot_->lost; }

}  // namespace lane

#endif  // LANE_NO_LOST_PAGES
