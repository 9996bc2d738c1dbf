#include "cpp/planner/arena_conflicts.h"

#include <algorithm>
#include <numeric>

namespace lane {
namespace {

std::vector<uint32_t> by_begin(const ArenaProblem& problem) {
  std::vector<uint32_t> order(problem.arrays.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return problem.arrays[i].begin; });
  return order;
}

// Calls visit(a, b) for every two arrays that overlap in time, a beginning no later than b.
template <typename Visit>
void for_each_pair(const ArenaProblem& problem, const std::vector<uint32_t>& order, const Visit& visit) {
  std::vector<uint32_t> live;
  for (const uint32_t b : order) {
    std::erase_if(live, [&](uint32_t a) { return problem.arrays[a].end <= problem.arrays[b].begin; });
    for (const uint32_t a : live) visit(a, b);
    live.push_back(b);
  }
}

}  // namespace

ArenaConflicts::ArenaConflicts(const ArenaProblem& problem) : first_(problem.arrays.size() + 1) {
  const std::vector<uint32_t> order = by_begin(problem);
  for_each_pair(problem, order, [&](uint32_t a, uint32_t b) {
    ++first_[a + 1];
    ++first_[b + 1];
  });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  neighbours_.resize(first_.back());
  std::vector<uint64_t> next(first_.begin(), first_.end() - 1);
  for_each_pair(problem, order, [&](uint32_t a, uint32_t b) {
    neighbours_[next[a]++] = b;
    neighbours_[next[b]++] = a;
  });
}

int64_t live_bytes_bound(const ArenaProblem& problem) {
  struct Change {
    int64_t launch, bytes;
  };
  std::vector<Change> changes;
  for (const ArenaArray& array : problem.arrays) {
    const int64_t bytes = aligned_bytes(array.bytes, problem.alignment_bytes);
    changes.push_back({array.begin, bytes});
    changes.push_back({array.end, -bytes});
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

int64_t aligned_bytes(int64_t bytes, int64_t alignment_bytes) {
  return (bytes + alignment_bytes - 1) & ~(alignment_bytes - 1);
}

}  // namespace lane
