#include "cpp/planner/arena.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cpp/planner/arena_bound.h"
#include "cpp/planner/arena_graph.h"
#include "cpp/planner/arena_strategies.h"
#include "cpp/planner/concat.h"
#include "cpp/runtime/error.h"

namespace lane {
namespace {

template <typename Found>
[[noreturn]] void refuse(const std::string& what, const Found& found, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, concat("arena: ", what, ": found ", found, ", allowed ", allowed));
}

void check_life(const ArenaArray& array, size_t streams) {
  bool live = false;
  for (size_t s = 0; s < kMaxStreams; ++s) {
    const int64_t begin = array.life.begin[s], end = array.life.end[s];
    live = live || end > begin;
    if (begin >= 0 && end >= begin && (s < streams || end == 0)) continue;
    refuse(concat("array '", array.name, "': life on stream ", s), concat("[", begin, ", ", end, ")"),
           s < streams ? "one that begins at 0 or later and ends no earlier" : "[0, 0) past the problem's streams");
  }
  if (!live) refuse(concat("array '", array.name, "': life"), "no launch", "1 or more");
}

const ArenaStrategy& strategy_named(const std::string& name) {
  for (const ArenaStrategy& strategy : kArenaStrategies) {
    if (strategy.name == name) return strategy;
  }
  std::string known;
  for (const std::string& other : arena_strategies()) {
    if (!known.empty()) known += ", ";
    known += other;
  }
  refuse("strategy", concat("'", name, "'"), known);
}

}  // namespace

void check_problem(const ArenaProblem& problem) {
  const int64_t alignment = problem.alignment_bytes;
  if (alignment <= 0 || !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    refuse("alignment in bytes", alignment, "a power of two");
  }
  if (problem.streams < 1 || problem.streams > kMaxStreams) {
    refuse("streams", problem.streams, concat("1 to ", kMaxStreams));
  }
  int64_t left = std::numeric_limits<int64_t>::max();
  for (const ArenaArray& array : problem.arrays) {
    if (array.bytes <= 0 || array.bytes > left - alignment) {
      refuse(concat("array '", array.name, "': bytes"), array.bytes, "1 or more, and all arrays' below 2^63");
    }
    left -= aligned_bytes(array.bytes, alignment);
    check_life(array, problem.streams);
  }
}

std::vector<std::string> arena_strategies() {
  std::vector<std::string> names;
  for (const ArenaStrategy& strategy : kArenaStrategies) names.emplace_back(strategy.name);
  return names;
}

ArenaAnswer plan_arena(const ArenaProblem& problem, std::span<const std::string> strategies) {
  check_problem(problem);
  for (const std::string& name : strategies) strategy_named(name);
  if (strategies.empty()) refuse("strategies", "none", "1 or more");
  const ArenaGraph graph(problem);
  ArenaAnswer answer;
  answer.total_bytes = std::numeric_limits<int64_t>::max();
  answer.lower_bound_bytes = arena_lower_bound(graph);
  Placement best;
  for (const ArenaStrategy& strategy : kArenaStrategies) {
    if (std::ranges::find(strategies, strategy.name) == strategies.end()) continue;
    Placement placement = strategy.place(graph, {best, answer.lower_bound_bytes});
    answer.optimal = answer.optimal || placement.optimal;
    if (placement.total_bytes < answer.total_bytes) {
      answer.total_bytes = placement.total_bytes;
      answer.strategy = strategy.name;
      best = std::move(placement);
    }
    answer.optimal = answer.optimal || answer.total_bytes == answer.lower_bound_bytes;
    if (answer.optimal) break;
  }
  answer.offsets = std::move(best.offsets);
  return answer;
}

}  // namespace lane
