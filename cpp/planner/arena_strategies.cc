#include "cpp/planner/arena_strategies.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace lane {
namespace {

// What one promotion may cost in all: conflicts looked at. A few hundred milliseconds.
constexpr size_t kPromotionConflicts = 4'000'000;
constexpr size_t kPromotionRounds = 100;

using Keys = std::vector<double>;  // by array: the highest is placed first

double launches(const ArenaLife& life) {
  int64_t count = 0;
  for (size_t s = 0; s < kMaxStreams; ++s) count += life.end[s] - life.begin[s];
  return static_cast<double>(count);
}

template <typename Key>
Keys keys_by(const ArenaGraph& graph, const Key& key) {
  Keys keys(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) keys[i] = static_cast<double>(key(i));
  return keys;
}

Keys by_size(const ArenaGraph& graph) {
  return keys_by(graph, [&](uint32_t i) { return graph.bytes(i); });
}

Keys by_length(const ArenaGraph& graph) {
  return keys_by(graph, [&](uint32_t i) { return launches(graph.life(i)); });
}

Keys by_area(const ArenaGraph& graph) {
  return keys_by(graph, [&](uint32_t i) { return static_cast<double>(graph.bytes(i)) * launches(graph.life(i)); });
}

Keys by_crowd(const ArenaGraph& graph) {
  return keys_by(graph, [&](uint32_t i) {
    int64_t bytes = graph.bytes(i);
    for (const uint32_t other : graph.conflicts(i)) bytes += graph.bytes(other);
    return bytes;
  });
}

// Of equal keys, those that begin first.
Placement place_by(const ArenaGraph& graph, const Keys& keys, Fit fit) {
  std::vector<uint32_t> order(graph.by_begin().begin(), graph.by_begin().end());
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](uint32_t i) { return keys[i]; });
  return place_in_order(graph, order, fit);
}

// Lets every array that ends above the bound go ahead of all it conflicts with, which then must find room beside it.
void promote(const ArenaGraph& graph, const Placement& placement, int64_t bound, Keys& keys) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (placement.offsets[i] + graph.bytes(i) <= bound) continue;
    for (const uint32_t other : graph.conflicts(i)) keys[i] = std::max(keys[i], keys[other]);
    keys[i] = std::nextafter(keys[i], std::numeric_limits<double>::infinity());
  }
}

// Placements from these keys on, promoted round by round, until one meets the bound.
Placement best_of_promotions(const ArenaGraph& graph, Keys keys, int64_t bound) {
  const size_t cost = graph.conflict_count() + graph.size();
  const size_t rounds = std::clamp(kPromotionConflicts / std::max<size_t>(cost, 1), size_t{1}, kPromotionRounds);
  Placement best;
  for (size_t round = 0; round < rounds; ++round) {
    Placement placement = place_by(graph, keys, Fit::kFirst);
    promote(graph, placement, bound, keys);
    if (round == 0 || placement.total_bytes < best.total_bytes) best = std::move(placement);
    if (best.total_bytes == bound) break;
  }
  return best;
}

}  // namespace

Placement place_by_size(const ArenaGraph& graph, const ArenaSoFar&) {
  return place_by(graph, by_size(graph), Fit::kBest);
}

Placement place_by_area(const ArenaGraph& graph, const ArenaSoFar&) {
  return place_by(graph, by_area(graph), Fit::kFirst);
}

Placement place_by_crowd(const ArenaGraph& graph, const ArenaSoFar&) {
  return place_by(graph, by_crowd(graph), Fit::kFirst);
}

Placement place_by_promotion(const ArenaGraph& graph, const ArenaSoFar& so_far) {
  Placement best;
  for (const auto keys : {by_crowd, by_area, by_length, by_size}) {
    Placement placement = best_of_promotions(graph, keys(graph), so_far.lower_bound_bytes);
    if (best.offsets.empty() || placement.total_bytes < best.total_bytes) best = std::move(placement);
    if (best.total_bytes == so_far.lower_bound_bytes) break;
  }
  return best;
}

}  // namespace lane
