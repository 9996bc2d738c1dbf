// The lower bound of an arena: the heaviest set of arrays no two of which the order separates.
#pragma once

#include <cstdint>

#include "cpp/planner/arena_graph.h"

namespace lane {

int64_t arena_lower_bound(const ArenaGraph& graph);

}  // namespace lane
