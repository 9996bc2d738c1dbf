#include "cpp/planner/arena_bound.h"

#include <algorithm>
#include <vector>

#include "cpp/planner/arena_antichain.h"

namespace lane {
namespace {

// On one stream lives are intervals, and intervals that pairwise overlap have a launch in common.
int64_t most_live_bytes(const ArenaGraph& graph) {
  struct Change {
    int64_t launch, bytes;
  };
  std::vector<Change> changes;
  for (const uint32_t array : graph.by_begin()) {
    changes.push_back({graph.life(array).begin[0], graph.bytes(array)});
    changes.push_back({graph.life(array).end[0], -graph.bytes(array)});
  }
  // What ends at a launch makes room before what begins there takes it.
  std::ranges::sort(changes, [](const Change& a, const Change& b) {
    return a.launch != b.launch ? a.launch < b.launch : a.bytes < b.bytes;
  });
  int64_t live = 0, most = 0;
  for (const Change& change : changes) {
    live += change.bytes;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

int64_t arena_lower_bound(const ArenaGraph& graph) {
  return graph.streams() == 1 ? most_live_bytes(graph) : heaviest_antichain_bytes(graph);
}

}  // namespace lane
