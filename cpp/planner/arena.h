// The arena planner: plain numbers in, plain numbers out.
//
// In: arrays, each with its bytes and its lifetime, a half-open interval of launches [begin, end).
// Out: an offset for each, a multiple of the alignment, such that arrays live at one time share no byte; the arena's
// bytes; and their lower bound. The same problem always gives the same answer.
#pragma once

#include <cstdint>
#include <vector>

namespace lane {

struct ArenaArray {
  int64_t bytes;
  int64_t begin;  // the launch that first writes it
  int64_t end;    // one past the launch that last reads it
};

struct ArenaProblem {
  int64_t alignment_bytes;  // a power of two
  std::vector<ArenaArray> arrays;
};

struct ArenaAnswer {
  std::vector<int64_t> offsets;  // in bytes, by array
  int64_t total_bytes = 0;
  int64_t lower_bound_bytes = 0;  // the most aligned bytes live at once
};

// Throws a usage error for an alignment that is no power of two, an array without bytes, an empty or negative
// lifetime, or bytes that overflow.
ArenaAnswer plan_arena(const ArenaProblem& problem);

}  // namespace lane
