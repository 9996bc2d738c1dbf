// In: an address range that maps a file. Out: whether bytes of it were lost. A file that others cut short, or a disk
// that fails, makes the next read of the mapping a SIGBUS, which ends the process. Of a watched range such a read gives
// zeros instead, from there to the range's end, and `lost` says so: whoever has read asks afterwards.
//
// The signal's handler is the process's. It is taken when the first range is watched, and what falls in no such range
// goes to the handler that was there before.
#pragma once

#include <cstddef>
#include <span>

namespace lane {

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

}  // namespace lane
