#include "cpp/planner/arena_antichain.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace lane {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 2;

// A flow network by its arcs: arc 2i and its reverse 2i + 1.
class Network {
 public:
  explicit Network(size_t nodes) : arcs_of_(nodes), arc_to_(nodes) {}

  size_t add(uint32_t from, uint32_t to, int64_t capacity, int64_t flow) {
    arcs_.push_back({to, capacity - flow});
    arcs_.push_back({from, flow});
    arcs_of_[from].push_back(static_cast<uint32_t>(arcs_.size() - 2));
    arcs_of_[to].push_back(static_cast<uint32_t>(arcs_.size() - 1));
    return arcs_.size() - 2;
  }

  // The flow that still goes from one node to the other, along shortest paths, until none does.
  int64_t fill(uint32_t from, uint32_t to) {
    int64_t filled = 0;
    while (find_path(from, to)) filled += push(from, to);
    return filled;
  }

 private:
  struct Arc {
    uint32_t to;
    int64_t left;
  };
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  bool find_path(uint32_t from, uint32_t to) {
    std::ranges::fill(arc_to_, kNone);
    std::vector<uint32_t> reached{from};
    for (size_t next = 0; next < reached.size(); ++next) {
      for (const uint32_t arc : arcs_of_[reached[next]]) {
        const uint32_t node = arcs_[arc].to;
        if (arcs_[arc].left == 0 || node == from || arc_to_[node] != kNone) continue;
        arc_to_[node] = arc;
        if (node == to) return true;
        reached.push_back(node);
      }
    }
    return false;
  }

  int64_t push(uint32_t from, uint32_t to) {
    int64_t most = kUnlimited;
    for (uint32_t node = to; node != from; node = arcs_[arc_to_[node] ^ 1].to) {
      most = std::min(most, arcs_[arc_to_[node]].left);
    }
    for (uint32_t node = to; node != from; node = arcs_[arc_to_[node] ^ 1].to) {
      arcs_[arc_to_[node]].left -= most;
      arcs_[arc_to_[node] ^ 1].left += most;
    }
    return most;
  }

  std::vector<Arc> arcs_;
  std::vector<std::vector<uint32_t>> arcs_of_;  // by node
  std::vector<uint32_t> arc_to_;                // by node: the arc by which the search reached it
};

// The network: every array hands its bytes on from `out`, to the `in` of any after it, which takes up to its own bytes
// and passes the rest through to its own `out`.
class Chains {
 public:
  explicit Chains(const ArenaGraph& graph)
      : graph_(graph),
        n_(static_cast<uint32_t>(graph.size())),
        network_(2 * graph.size() + 2),
        to_give_(graph.size()),
        to_take_(graph.size()) {
    for (uint32_t i = 0; i < n_; ++i) to_give_[i] = to_take_[i] = graph.bytes(i);
  }

  // All that can be handed on.
  int64_t handed_on() {
    int64_t handed = hand_on_greedily();
    for (uint32_t i = 0; i < n_; ++i) {
      network_.add(source(), out(i), graph_.bytes(i), graph_.bytes(i) - to_give_[i]);
      network_.add(in(i), sink(), graph_.bytes(i), graph_.bytes(i) - to_take_[i]);
      network_.add(in(i), out(i), kUnlimited, 0);
      for (const uint32_t next : graph_.next_after(i)) network_.add(out(i), in(next), kUnlimited, 0);
    }
    handed += network_.fill(source(), sink());
    return handed;
  }

 private:
  uint32_t out(uint32_t array) const { return array; }
  uint32_t in(uint32_t array) const { return n_ + array; }
  uint32_t source() const { return 2 * n_; }
  uint32_t sink() const { return 2 * n_ + 1; }

  // A start that leaves little to improve: each array takes from those before it that began last, whose bytes the
  // fewest others can use.
  int64_t hand_on_greedily() {
    int64_t handed = 0;
    std::vector<uint32_t> givers;
    for (const uint32_t taker : graph_.by_begin()) {
      for (size_t g = givers.size(); g-- > 0 && to_take_[taker] > 0;) {
        const uint32_t giver = givers[g];
        if (!graph_.life(giver).before(graph_.life(taker))) continue;
        const int64_t bytes = std::min(to_give_[giver], to_take_[taker]);
        network_.add(out(giver), in(taker), kUnlimited, bytes);
        to_give_[giver] -= bytes;
        to_take_[taker] -= bytes;
        handed += bytes;
      }
      std::erase_if(givers, [&](uint32_t giver) { return to_give_[giver] == 0; });
      givers.push_back(taker);
    }
    return handed;
  }

  const ArenaGraph& graph_;
  const uint32_t n_;
  Network network_;
  std::vector<int64_t> to_give_, to_take_;  // by array: bytes not yet handed on, not yet taken over
};

}  // namespace

int64_t heaviest_antichain_bytes(const ArenaGraph& graph) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) bytes += graph.bytes(i);
  return bytes - Chains(graph).handed_on();
}

}  // namespace lane
