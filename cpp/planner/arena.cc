#include "cpp/planner/arena.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "cpp/planner/arena_conflicts.h"
#include "cpp/runtime/error.h"

namespace lane {
namespace {

constexpr int64_t kUnplaced = -1;

[[noreturn]] void refuse(const std::string& what, int64_t found, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, "arena: " + what + ": found " + std::to_string(found) + ", allowed " + allowed);
}

void check(const ArenaProblem& problem) {
  const int64_t alignment = problem.alignment_bytes;
  if (alignment <= 0 || !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    refuse("alignment in bytes", alignment, "a power of two");
  }
  int64_t left = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < problem.arrays.size(); ++i) {
    const ArenaArray& array = problem.arrays[i];
    const std::string name = "array " + std::to_string(i);
    if (array.bytes <= 0 || array.bytes > left - alignment) {
      refuse(name + ": bytes", array.bytes, "1 or more, and all arrays' together below 2^63");
    }
    if (array.begin < 0) refuse(name + ": first launch", array.begin, "0 or more");
    if (array.end <= array.begin) refuse(name + ": end", array.end, "above its first launch");
    left -= aligned_bytes(array.bytes, alignment);
  }
}

struct Extent {
  int64_t begin, end;  // bytes of the arena, half-open
};

// Puts one array where it wastes least: in the smallest gap between the arrays it conflicts with that holds it, the
// lowest of equals; above them all if none does.
int64_t best_fit(int64_t bytes, std::vector<Extent>& taken) {
  std::ranges::sort(taken, {}, &Extent::begin);
  int64_t free_from = 0, best = kUnplaced, best_gap = std::numeric_limits<int64_t>::max();
  for (const Extent& extent : taken) {
    const int64_t gap = extent.begin - free_from;
    if (gap >= bytes && gap < best_gap) {
      best = free_from;
      best_gap = gap;
    }
    free_from = std::max(free_from, extent.end);
  }
  return best == kUnplaced ? free_from : best;
}

std::vector<uint32_t> largest_first(const ArenaProblem& problem) {
  std::vector<uint32_t> order(problem.arrays.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](uint32_t i, uint32_t j) {
    const ArenaArray &a = problem.arrays[i], &b = problem.arrays[j];
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.end - a.begin > b.end - b.begin;
  });
  return order;
}

}  // namespace

ArenaAnswer plan_arena(const ArenaProblem& problem) {
  check(problem);
  const ArenaConflicts conflicts(problem);
  ArenaAnswer answer{.offsets = std::vector<int64_t>(problem.arrays.size(), kUnplaced),
                     .lower_bound_bytes = live_bytes_bound(problem)};
  std::vector<Extent> taken;
  for (const uint32_t i : largest_first(problem)) {
    taken.clear();
    for (const uint32_t j : conflicts.of(i)) {
      const int64_t offset = answer.offsets[j];
      if (offset == kUnplaced) continue;
      taken.push_back({offset, offset + aligned_bytes(problem.arrays[j].bytes, problem.alignment_bytes)});
    }
    const int64_t bytes = aligned_bytes(problem.arrays[i].bytes, problem.alignment_bytes);
    answer.offsets[i] = best_fit(bytes, taken);
    answer.total_bytes = std::max(answer.total_bytes, answer.offsets[i] + bytes);
  }
  return answer;
}

}  // namespace lane
