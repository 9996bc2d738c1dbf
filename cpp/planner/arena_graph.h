// An arena problem as the strategies see it: aligned sizes, and which arrays must not share bytes.
//
// In: a valid problem. Out: for each array its conflicts. Time and space grow with the number of conflicting pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpp/planner/arena.h"

namespace lane {

class ArenaGraph {
 public:
  explicit ArenaGraph(const ArenaProblem& problem);

  size_t size() const { return bytes_.size(); }
  int64_t bytes(uint32_t array) const { return bytes_[array]; }  // a multiple of the alignment
  const ArenaLife& life(uint32_t array) const { return problem_.arrays[array].life; }
  size_t streams() const { return problem_.streams; }

  // Every array, those that come before others in the order first.
  std::span<const uint32_t> by_begin() const { return by_begin_; }

  // The arrays that conflict with one: neither comes before the other.
  std::span<const uint32_t> conflicts(uint32_t array) const {
    return {neighbours_.data() + first_[array], first_[array + 1] - first_[array]};
  }
  // The arrays that come after one with no other between: to any after it there is a way over these.
  std::vector<uint32_t> next_after(uint32_t array) const;

  size_t conflict_count() const { return neighbours_.size(); }

 private:
  template <typename Visit>
  void for_each_conflict(const Visit& visit) const;

  const ArenaProblem& problem_;
  std::vector<int64_t> bytes_;
  std::vector<uint32_t> by_begin_;
  std::vector<size_t> position_;  // by array, in by_begin_
  std::vector<size_t> reach_;     // by position: from there on every array comes after this one
  std::vector<size_t> first_;     // of array i: neighbours_[first_[i], first_[i + 1])
  std::vector<uint32_t> neighbours_;
};

int64_t aligned_bytes(int64_t bytes, int64_t alignment_bytes);

}  // namespace lane
