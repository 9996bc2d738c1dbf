// The strategy "search": branch and bound over placements, of which the best is optimal where the search ends by
// itself.
//
// Any placement can be pushed down until each array lies at 0 or on top of one that it conflicts with. So arrays are
// put down in order of their offsets, each at its floor: the highest end of the conflicting arrays already down.
// Branches are cut (1) where the arrays of a clique, its lowest floor and what is still to come, pass the target; (2)
// where the array put down starts at or above the lowest end that another could have had: putting that one down first
// loses nothing; (3) where it starts below the one before, or level with it and is the lower in number: the same
// placement is reached in the other order. The target falls with each placement found. Related: Moffitt, "MiniMalloc: A
// Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "cpp/planner/arena_strategies.h"

namespace lane {
namespace {

constexpr size_t kMostArrays = 256;
constexpr int64_t kMostSteps = 5'000'000;  // arrays looked at, in all: a few hundred milliseconds

struct Clique {
  std::vector<uint32_t> members;
  int64_t left_bytes = 0;  // of members still to come
};

class Search {
 public:
  Search(const ArenaGraph& graph, Placement best, int64_t lower_bound)
      : graph_(graph),
        lower_bound_(lower_bound),
        best_(std::move(best)),
        floors_(graph.size(), 0),
        offsets_(graph.size(), kToCome),
        cliques_of_(graph.size()) {
    find_cliques();
  }

  Placement run() {
    descend(0, {0, 0}, 0);
    best_.optimal = steps_ <= kMostSteps;  // it ended by itself: nothing below the target is left
    return std::move(best_);
  }

 private:
  static constexpr int64_t kToCome = -1;

  struct Choice {
    int64_t offset;
    uint32_t array;
  };

  // For each array, those that are live when it begins and conflict with one another, as many as fit in turn. On one
  // stream these are all the arrays live at its first launch.
  void find_cliques() {
    std::vector<size_t> position(graph_.size());
    for (size_t p = 0; p < graph_.size(); ++p) position[graph_.by_begin()[p]] = p;
    for (const uint32_t array : graph_.by_begin()) {
      std::vector<uint32_t> members{array};
      for (const uint32_t other : graph_.conflicts(array)) {
        const auto apart = [&](uint32_t m) {
          return graph_.life(m).before(graph_.life(other)) || graph_.life(other).before(graph_.life(m));
        };
        if (position[other] < position[array] && std::ranges::none_of(members, apart)) members.push_back(other);
      }
      for (const uint32_t member : members) cliques_of_[member].push_back(static_cast<uint32_t>(cliques_.size()));
      Clique clique{std::move(members), 0};
      for (const uint32_t member : clique.members) clique.left_bytes += graph_.bytes(member);
      cliques_.push_back(std::move(clique));
    }
  }

  int64_t target() const { return best_.total_bytes - 1; }
  bool done() const { return steps_ > kMostSteps || best_.total_bytes == lower_bound_; }

  // Whether a clique's members still to come fit between the lowest of their floors and the target.
  bool fits(const Clique& clique, int64_t from) {
    if (clique.left_bytes == 0) return true;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (const uint32_t member : clique.members) {
      ++steps_;
      if (offsets_[member] == kToCome) lowest = std::min(lowest, std::max(floors_[member], from));
    }
    return lowest <= target() - clique.left_bytes;
  }

  // What may be put down after `last`, the lowest first.
  std::vector<Choice> choices(const Choice& last) {
    int64_t lowest_end = std::numeric_limits<int64_t>::max();
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (offsets_[i] != kToCome) continue;
      lowest_end = std::min(lowest_end, std::max(floors_[i], last.offset) + graph_.bytes(i));
    }
    std::vector<Choice> found;
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      const bool after = floors_[i] > last.offset || (floors_[i] == last.offset && i >= last.array);
      if (offsets_[i] == kToCome && after && floors_[i] < lowest_end) found.push_back({floors_[i], i});
    }
    steps_ += 2 * static_cast<int64_t>(graph_.size());
    std::ranges::stable_sort(found, [&](const Choice& a, const Choice& b) {
      return a.offset != b.offset ? a.offset < b.offset : graph_.bytes(a.array) > graph_.bytes(b.array);
    });
    return found;
  }

  void descend(size_t down, const Choice& last, int64_t top) {
    if (down == graph_.size()) {
      best_ = {offsets_, top};
      return;
    }
    for (const Choice& choice : choices(last)) {
      if (done()) return;
      if (choice.offset + graph_.bytes(choice.array) > target()) continue;
      put_down(choice, down, top);
    }
  }

  void put_down(const Choice& choice, size_t down, int64_t top) {
    const int64_t end = choice.offset + graph_.bytes(choice.array);
    const size_t changes = raised_.size();
    offsets_[choice.array] = choice.offset;
    for (const uint32_t other : graph_.conflicts(choice.array)) {
      if (offsets_[other] != kToCome || floors_[other] >= end) continue;
      raised_.push_back({floors_[other], other});
      floors_[other] = end;
    }
    for (const uint32_t c : cliques_of_[choice.array]) cliques_[c].left_bytes -= graph_.bytes(choice.array);
    if (all_fit(choice, changes)) descend(down + 1, choice, std::max(top, end));
    for (const uint32_t c : cliques_of_[choice.array]) cliques_[c].left_bytes += graph_.bytes(choice.array);
    for (; raised_.size() > changes; raised_.pop_back()) floors_[raised_.back().array] = raised_.back().offset;
    offsets_[choice.array] = kToCome;
  }

  bool all_fit(const Choice& choice, size_t changes) {
    const auto fit = [&](uint32_t c) { return fits(cliques_[c], choice.offset); };
    if (!std::ranges::all_of(cliques_of_[choice.array], fit)) return false;
    for (size_t i = changes; i < raised_.size(); ++i) {
      if (!std::ranges::all_of(cliques_of_[raised_[i].array], fit)) return false;
    }
    return true;
  }

  const ArenaGraph& graph_;
  const int64_t lower_bound_;
  Placement best_;
  std::vector<int64_t> floors_;   // by array: the lowest offset that the arrays down leave it
  std::vector<int64_t> offsets_;  // of those down
  std::vector<Clique> cliques_;
  std::vector<std::vector<uint32_t>> cliques_of_;  // by array
  std::vector<Choice> raised_;                     // floors before they were raised, to undo
  int64_t steps_ = 0;
};

}  // namespace

Placement place_by_search(const ArenaGraph& graph, const ArenaSoFar& so_far) {
  Placement best = so_far.best.offsets.empty() ? place_by_size(graph, so_far) : so_far.best;
  if (graph.size() > kMostArrays) return best;
  return Search(graph, std::move(best), so_far.lower_bound_bytes).run();
}

}  // namespace lane
