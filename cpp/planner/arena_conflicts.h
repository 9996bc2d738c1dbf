// Which arrays of an arena problem are live at one time.
//
// In: a valid problem. Out: for each array those it must not share bytes with, and the most aligned bytes live at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpp/planner/arena.h"

namespace lane {

class ArenaConflicts {
 public:
  // Time and space grow with the number of conflicting pairs.
  explicit ArenaConflicts(const ArenaProblem& problem);

  // The arrays that conflict with an array, in order of their beginning.
  std::span<const uint32_t> of(size_t array) const {
    return {neighbours_.data() + first_[array], first_[array + 1] - first_[array]};
  }

 private:
  std::vector<uint64_t> first_;  // of array i: neighbours_[first_[i], first_[i + 1])
  std::vector<uint32_t> neighbours_;
};

// The most aligned bytes live at once.
int64_t live_bytes_bound(const ArenaProblem& problem);

int64_t aligned_bytes(int64_t bytes, int64_t alignment_bytes);

}  // namespace lane
