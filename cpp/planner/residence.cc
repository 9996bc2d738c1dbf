#include "cpp/planner/residence.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cpp/planner/concat.h"
#include "cpp/runtime/error.h"

namespace lane {
namespace {

void check(const std::vector<MovableMatrix>& matrices) {
  int64_t left = std::numeric_limits<int64_t>::max();
  for (const MovableMatrix& matrix : matrices) {
    if (matrix.bytes < 0 || matrix.bytes > left || !(matrix.read_bytes >= 0)) {
      throw Error(ErrorKind::kUsage,
                  concat("residence: matrix '", matrix.name, "': found ", matrix.bytes, " bytes of which a step reads ",
                         matrix.read_bytes, ", allowed 0 or more of both, and all matrices' bytes below 2^63"));
    }
    left -= matrix.bytes;
  }
}

void check_order(const std::vector<MovableMatrix>& matrices, std::vector<uint32_t> order) {
  std::ranges::sort(order);
  const bool each_once = order.size() == matrices.size() && std::ranges::adjacent_find(order) == order.end();
  if (!each_once || (!order.empty() && order.back() >= matrices.size())) {
    throw Error(ErrorKind::kUsage, concat("residence: an order of ", order.size(), " matrices, allowed each of the ",
                                          matrices.size(), " once"));
  }
}

// What is left of the budget beside arena and fixed bytes.
int64_t room(const ResidenceBudget& budget) {
  for (const int64_t bytes : {budget.arena_bytes, budget.fixed_bytes, budget.device_bytes}) {
    if (bytes >= 0) continue;
    throw Error(ErrorKind::kUsage, concat("residence: found ", bytes, " bytes, allowed 0 or more"));
  }
  const bool fits =
      budget.arena_bytes <= budget.device_bytes && budget.fixed_bytes <= budget.device_bytes - budget.arena_bytes;
  if (!fits) {
    throw Error(ErrorKind::kCapacity,
                concat("residence: an arena of ", budget.arena_bytes, " bytes and ", budget.fixed_bytes,
                       " bytes that cannot move, allowed ", budget.device_bytes, " together"));
  }
  return budget.device_bytes - budget.arena_bytes - budget.fixed_bytes;
}

}  // namespace

std::vector<uint32_t> order_to_move(const std::vector<MovableMatrix>& matrices) {
  check(matrices);
  std::vector<uint32_t> order(matrices.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto lost = [&](uint32_t i) {
    const double bytes = static_cast<double>(matrices[i].bytes);
    return bytes > 0 ? matrices[i].read_bytes / bytes : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    const double lost_a = lost(a), lost_b = lost(b);
    return lost_a != lost_b ? lost_a < lost_b : matrices[a].bytes > matrices[b].bytes;
  });
  return order;
}

Residence choose_residence(const std::vector<MovableMatrix>& matrices, const std::vector<uint32_t>& order,
                           const ResidenceBudget& budget) {
  check(matrices);
  check_order(matrices, order);
  int64_t left = room(budget);  // below zero as long as too much stays
  for (const MovableMatrix& matrix : matrices) left -= matrix.bytes;
  std::vector<uint32_t> moved;
  for (size_t next = 0; left < 0; ++next) {
    left += matrices[order[next]].bytes;
    moved.push_back(order[next]);
  }
  std::vector<bool> stays(matrices.size(), true);
  for (size_t i = moved.size(); i-- > 0;) {
    const int64_t bytes = matrices[moved[i]].bytes;
    stays[moved[i]] = bytes <= left;
    if (stays[moved[i]]) left -= bytes;
  }
  std::erase_if(moved, [&](uint32_t i) { return stays[i]; });
  Residence residence{std::move(moved), budget.device_bytes - left, 0};
  for (const uint32_t i : residence.moved) residence.host_bytes += matrices[i].bytes;
  return residence;
}

int64_t budget_of_free(int64_t free_bytes, int64_t spare_bytes) {
  return std::max<int64_t>(0, free_bytes - spare_bytes);
}

}  // namespace lane
