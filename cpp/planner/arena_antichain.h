// The heaviest set of arrays no two of which the order separates, when several streams make the order partial.
//
// In: the arrays' bytes and lives. Out: the bytes of the heaviest antichain. By Dilworth's theorem with weights it
// equals the least number of bytes, counted as chains of arrays one before the other, that cover every array by its
// bytes: all bytes, less the most that can be handed on from an array to one after it. That most is a maximum flow.
#pragma once

#include <cstdint>

#include "cpp/planner/arena_graph.h"

namespace lane {

int64_t heaviest_antichain_bytes(const ArenaGraph& graph);

}  // namespace lane
