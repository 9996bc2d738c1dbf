#include "cpp/planner/arena_graph.h"

#include <algorithm>
#include <numeric>

namespace lane {
namespace {

int64_t sum(const std::array<int64_t, kMaxStreams>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// An array that comes before another begins at a lower sum: each count is no higher, and its own accesses lie between.
std::vector<uint32_t> order_by_begin(const ArenaProblem& problem) {
  std::vector<uint32_t> order(problem.arrays.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return sum(problem.arrays[i].life.begin); });
  return order;
}

// For each array of the order, the first position from which on every array comes after it.
std::vector<size_t> reaches(const ArenaProblem& problem, const std::vector<uint32_t>& order) {
  const size_t n = order.size();
  // The least begin of all arrays from a position on, which never falls with the position: a search finds the reach.
  std::vector<ArenaLife> least(n);
  for (size_t p = n; p-- > 0;) {
    least[p].begin = problem.arrays[order[p]].life.begin;
    if (p + 1 == n) continue;
    for (size_t s = 0; s < kMaxStreams; ++s) {
      least[p].begin[s] = std::min(least[p].begin[s], least[p + 1].begin[s]);
    }
  }
  std::vector<size_t> reach(n);
  for (size_t p = 0; p < n; ++p) {
    const ArenaLife& life = problem.arrays[order[p]].life;
    const auto from = least.begin() + static_cast<std::ptrdiff_t>(p) + 1;
    const auto after = std::partition_point(from, least.end(), [&](const ArenaLife& l) { return !life.before(l); });
    reach[p] = static_cast<size_t>(after - least.begin());
  }
  return reach;
}

}  // namespace

template <typename Visit>
void ArenaGraph::for_each_conflict(const Visit& visit) const {
  for (size_t p = 0; p < by_begin_.size(); ++p) {
    for (size_t q = p + 1; q < reach_[p]; ++q) {
      if (!life(by_begin_[p]).before(life(by_begin_[q]))) visit(by_begin_[p], by_begin_[q]);
    }
  }
}

ArenaGraph::ArenaGraph(const ArenaProblem& problem)
    : problem_(problem),
      by_begin_(order_by_begin(problem)),
      position_(problem.arrays.size()),
      reach_(reaches(problem, by_begin_)),
      first_(problem.arrays.size() + 1) {
  for (const ArenaArray& array : problem.arrays) {
    bytes_.push_back(aligned_bytes(array.bytes, problem.alignment_bytes));
  }
  for (size_t p = 0; p < by_begin_.size(); ++p) position_[by_begin_[p]] = p;
  for_each_conflict([&](uint32_t a, uint32_t b) {
    ++first_[a + 1];
    ++first_[b + 1];
  });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  neighbours_.resize(first_.back());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for_each_conflict([&](uint32_t a, uint32_t b) {
    neighbours_[next[a]++] = b;
    neighbours_[next[b]++] = a;
  });
}

std::vector<uint32_t> ArenaGraph::next_after(uint32_t array) const {
  std::vector<uint32_t> next;
  size_t end = by_begin_.size();  // from there on every array comes after one found
  for (size_t q = position_[array] + 1; q < end; ++q) {
    const ArenaLife& other = life(by_begin_[q]);
    const auto between = [&](uint32_t found) { return life(found).before(other); };
    if (!life(array).before(other) || std::ranges::any_of(next, between)) continue;
    next.push_back(by_begin_[q]);
    end = std::min(end, reach_[q]);
  }
  return next;
}

int64_t aligned_bytes(int64_t bytes, int64_t alignment_bytes) {
  return (bytes + alignment_bytes - 1) & ~(alignment_bytes - 1);
}

}  // namespace lane
