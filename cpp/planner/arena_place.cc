#include "cpp/planner/arena_place.h"

#include <algorithm>
#include <limits>

namespace lane {
namespace {

constexpr int64_t kUnplaced = -1;

struct Extent {
  int64_t begin, end;  // bytes of the arena, half-open
};

// Where an array goes between the extents taken, or above them all if no gap holds it.
int64_t fit_between(std::vector<Extent>& taken, int64_t bytes, Fit fit) {
  std::ranges::sort(taken, {}, &Extent::begin);
  int64_t free_from = 0, best = kUnplaced, best_gap = std::numeric_limits<int64_t>::max();
  for (const Extent& extent : taken) {
    const int64_t gap = extent.begin - free_from;
    if (gap >= bytes && gap < best_gap) {
      best = free_from;
      best_gap = gap;
      if (fit == Fit::kFirst) break;
    }
    free_from = std::max(free_from, extent.end);
  }
  return best == kUnplaced ? free_from : best;
}

}  // namespace

Placement place_in_order(const ArenaGraph& graph, std::span<const uint32_t> order, Fit fit) {
  Placement placement{.offsets = std::vector<int64_t>(graph.size(), kUnplaced)};
  std::vector<Extent> taken;
  for (const uint32_t array : order) {
    taken.clear();
    for (const uint32_t other : graph.conflicts(array)) {
      const int64_t offset = placement.offsets[other];
      if (offset != kUnplaced) taken.push_back({offset, offset + graph.bytes(other)});
    }
    const int64_t offset = fit_between(taken, graph.bytes(array), fit);
    placement.offsets[array] = offset;
    placement.total_bytes = std::max(placement.total_bytes, offset + graph.bytes(array));
  }
  return placement;
}

}  // namespace lane
