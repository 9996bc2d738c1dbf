// Placing the arrays of an arena one after the other in an order that a strategy chose.
//
// In: the conflicts, an order, which gap to take. Out: offsets that no two conflicting arrays' bytes share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpp/planner/arena_graph.h"

namespace lane {

enum class Fit {
  kFirst,  // the lowest gap that holds the array
  kBest,   // the smallest gap that holds it, the lowest of equals
};

struct Placement {
  std::vector<int64_t> offsets;
  int64_t total_bytes = 0;
  bool optimal = false;  // known to be the fewest bytes there can be
};

Placement place_in_order(const ArenaGraph& graph, std::span<const uint32_t> order, Fit fit);

}  // namespace lane
