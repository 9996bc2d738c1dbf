// The strategy "shuffle": arrays are placed in an order, and what then ends above the bound moves ahead in it, by lot,
// for the next round. Rounds differ in where each goes and in the fit, so that the search does not come round to the
// same orders again, as "promotion" may. The lots are those of one fixed seed: the same problem gives the same answer.
//
// Related: Joslin & Clements, "Squeaky Wheel Optimization", JAIR 10, 1999.
#include <algorithm>
#include <random>

#include "cpp/planner/arena_strategies.h"

namespace lane {
namespace {

// What all rounds may cost: conflicts looked at. A few hundred milliseconds.
constexpr size_t kConflicts = 16'000'000;
constexpr size_t kMostRounds = 10'000;

class Shuffle {
 public:
  Shuffle(const ArenaGraph& graph, int64_t bound)
      : graph_(graph), bound_(bound), order_(graph.by_begin().begin(), graph.by_begin().end()), places_(graph.size()) {
    std::ranges::stable_sort(order_, std::ranges::greater{}, [&](uint32_t i) { return graph_.bytes(i); });
  }

  Placement run() {
    const size_t cost = graph_.conflict_count() + graph_.size();
    const size_t rounds = std::clamp(kConflicts / std::max<size_t>(cost, 1), size_t{1}, kMostRounds);
    Placement best;
    for (size_t round = 0; round < rounds; ++round) {
      Placement placement = place_in_order(graph_, order_, draw(2) == 0 ? Fit::kBest : Fit::kFirst);
      move_ahead(placement);
      if (round == 0 || placement.total_bytes < best.total_bytes) best = std::move(placement);
      if (best.total_bytes == bound_) break;
    }
    return best;
  }

 private:
  size_t draw(size_t below) { return engine_() % below; }

  // An array that ends too high goes to a place drawn from those before its own.
  void move_ahead(const Placement& placement) {
    for (size_t at = 0; at < order_.size(); ++at) {
      const uint32_t array = order_[at];
      const bool moves = at > 0 && placement.offsets[array] + graph_.bytes(array) > bound_;
      // Twice the place, and one less for what moves: it goes before the array that is there.
      places_[array] = moves ? 2 * static_cast<int64_t>(draw(at)) - 1 : 2 * static_cast<int64_t>(at);
    }
    std::ranges::stable_sort(order_, {}, [&](uint32_t i) { return places_[i]; });
  }

  const ArenaGraph& graph_;
  const int64_t bound_;
  std::mt19937_64 engine_{1};
  std::vector<uint32_t> order_;
  std::vector<int64_t> places_;  // by array, to sort by
};

}  // namespace

Placement place_by_shuffle(const ArenaGraph& graph, const ArenaSoFar& so_far) {
  return Shuffle(graph, so_far.lower_bound_bytes).run();
}

}  // namespace lane
