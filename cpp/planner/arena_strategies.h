// The strategies of the arena planner, by name.
//
// In: the conflicts, the best placement so far (without offsets at first) and the lower bound. Out: a placement; it may
// be worse than the best so far, which the planner keeps.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cpp/planner/arena_graph.h"
#include "cpp/planner/arena_place.h"

namespace lane {

struct ArenaSoFar {
  const Placement& best;
  int64_t lower_bound_bytes;
};

struct ArenaStrategy {
  std::string_view name;
  Placement (*place)(const ArenaGraph& graph, const ArenaSoFar& so_far);
};

Placement place_by_size(const ArenaGraph& graph, const ArenaSoFar& so_far);
Placement place_by_area(const ArenaGraph& graph, const ArenaSoFar& so_far);
Placement place_by_crowd(const ArenaGraph& graph, const ArenaSoFar& so_far);
Placement place_by_promotion(const ArenaGraph& graph, const ArenaSoFar& so_far);
Placement place_by_shuffle(const ArenaGraph& graph, const ArenaSoFar& so_far);
Placement place_by_search(const ArenaGraph& graph, const ArenaSoFar& so_far);

inline constexpr std::array kArenaStrategies = {
    ArenaStrategy{"size", place_by_size},            // the largest first, each in its best gap
    ArenaStrategy{"area", place_by_area},            // the largest bytes x launches first
    ArenaStrategy{"crowd", place_by_crowd},          // those with the most bytes live beside them first
    ArenaStrategy{"promotion", place_by_promotion},  // what ends too high goes first in the next round
    ArenaStrategy{"shuffle", place_by_shuffle},      // the same, each to a place drawn by lot
    ArenaStrategy{"search", place_by_search},        // branch and bound, of small problems
};

}  // namespace lane
