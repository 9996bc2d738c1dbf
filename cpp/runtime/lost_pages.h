// In: an address range that maps a file. Out: whether bytes of it were lost. A file that others cut short, or a disk
// that fails, makes the next read of the mapping a SIGBUS, which ends the process. Of a watched range such a read gives
// zeros instead, from there to the range's end, and `lost` says so: whoever has read asks afterwards.
//
// The signal's handler is the process's. It is taken when the first range is watched, and what falls in no such range
// goes to the handler that was there before. A process that wants its signals for itself is built with
// LANE_NO_LOST_PAGES: nothing is watched then, and a read of what was lost ends it.
#pragma once

#include <cstddef>
#include <span>

namespace lane {

#ifdef LANE_NO_LOST_PAGES

class WatchedRange {
 public:
  WatchedRange() = default;
  explicit WatchedRange(std::span<const std::byte>) {}

  bool lost() const { return false; }
};

#else

class WatchedRange {
 public:
  WatchedRange() = default;
  explicit WatchedRange(std::span<const std::byte> bytes);  // whole pages but for the last; may throw std::bad_alloc
  WatchedRange(WatchedRange&& other) noexcept;
  WatchedRange& operator=(WatchedRange&& other) noexcept;
  ~WatchedRange();  // before the range is unmapped

  bool lost() const;

  struct Slot;

 private:
  Slot* slot_ = nullptr;
};

#endif  // LANE_NO_LOST_PAGES

}  // namespace lane
