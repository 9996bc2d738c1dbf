// The arena planner: plain numbers in, plain numbers out.
//
// In: arrays, each with its bytes and its life under a stream plan's order. Out: an offset for each, a multiple of the
// alignment, such that two arrays share a byte only if the order puts every access to one before every access to the
// other; the arena's bytes; their lower bound. The same problem and options always give the same answer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpp/planner/step.h"

namespace lane {

// When an array is live, stream by stream, in launches of that stream counted from 0. On one stream that is the
// half-open interval [begin, end) of launches.
struct ArenaLife {
  std::array<int64_t, kMaxStreams> begin{};  // how many launches of the stream come before every access
  std::array<int64_t, kMaxStreams> end{};    // one past the stream's last access, or `begin` if it has none

  // Whether every access to this array comes before every access to the other.
  bool before(const ArenaLife& other) const {
    for (size_t s = 0; s < kMaxStreams; ++s) {
      if (end[s] > other.begin[s]) return false;
    }
    return true;
  }
};

struct ArenaArray {
  std::string name;  // for messages and text
  int64_t bytes;
  ArenaLife life;
};

struct ArenaProblem {
  int64_t alignment_bytes = 1;  // a power of two
  size_t streams = 1;
  std::vector<ArenaArray> arrays;
};

struct ArenaAnswer {
  std::vector<int64_t> offsets;  // in bytes, by array
  int64_t total_bytes = 0;
  int64_t lower_bound_bytes = 0;  // the heaviest set of arrays no two of which the order separates, aligned
  bool optimal = false;           // known to be the fewest bytes there can be, with or without meeting the bound
  std::string strategy;           // the one that found it
};

// The strategies' names, in the order in which they are tried.
std::vector<std::string> arena_strategies();

// The best answer of the strategies named, tried in their own order until one meets the lower bound. Throws a usage
// error for an alignment that is no power of two, an array without bytes or life, bytes that overflow, an unknown
// strategy or none.
ArenaAnswer plan_arena(const ArenaProblem& problem, std::span<const std::string> strategies);

// Throws what plan_arena throws of a problem.
void check_problem(const ArenaProblem& problem);

}  // namespace lane
