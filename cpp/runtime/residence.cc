#include "cpp/runtime/residence.h"

#include <algorithm>
#include <limits>
#include <string>

#include "cpp/runtime/error.h"

namespace lane {
namespace {

void check(std::span<const std::int64_t> matrix_bytes) {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < matrix_bytes.size(); ++i) {
    if (matrix_bytes[i] < 0 || matrix_bytes[i] > left) {
      throw Error(ErrorKind::kUsage, "residence: matrix " + std::to_string(i) + ": found " +
                                         std::to_string(matrix_bytes[i]) +
                                         " bytes, allowed 0 or more and all together below 2^63");
    }
    left -= matrix_bytes[i];
  }
}

// What is left of the budget beside arena and fixed bytes.
std::int64_t room(const ResidenceBudget& budget) {
  for (const std::int64_t bytes : {budget.arena_bytes, budget.fixed_bytes, budget.device_bytes}) {
    if (bytes >= 0) continue;
    throw Error(ErrorKind::kUsage, "residence: found " + std::to_string(bytes) + " bytes, allowed 0 or more");
  }
  const bool fits =
      budget.arena_bytes <= budget.device_bytes && budget.fixed_bytes <= budget.device_bytes - budget.arena_bytes;
  if (!fits) {
    throw Error(ErrorKind::kCapacity, "residence: an arena of " + std::to_string(budget.arena_bytes) + " bytes and " +
                                          std::to_string(budget.fixed_bytes) + " bytes that cannot move, allowed " +
                                          std::to_string(budget.device_bytes) + " together");
  }
  return budget.device_bytes - budget.arena_bytes - budget.fixed_bytes;
}

}  // namespace

Residence choose_residence(std::span<const std::int64_t> matrix_bytes, const ResidenceBudget& budget) {
  check(matrix_bytes);
  std::int64_t left = room(budget);  // below zero as long as too much stays
  for (const std::int64_t bytes : matrix_bytes) left -= bytes;
  std::vector<std::size_t> moved;
  for (std::size_t next = 0; left < 0; ++next) {
    left += matrix_bytes[next];
    moved.push_back(next);
  }
  std::vector<bool> stays(matrix_bytes.size(), true);
  for (std::size_t i = moved.size(); i-- > 0;) {
    const std::int64_t bytes = matrix_bytes[moved[i]];
    stays[moved[i]] = bytes <= left;
    if (stays[moved[i]]) left -= bytes;
  }
  std::erase_if(moved, [&](std::size_t i) { return stays[i]; });
  Residence residence{std::move(moved), budget.device_bytes - left, 0};
  for (const std::size_t i : residence.moved) residence.host_bytes += matrix_bytes[i];
  return residence;
}

std::int64_t budget_of_free(std::int64_t free_bytes, std::int64_t spare_bytes) {
  return std::max<std::int64_t>(0, free_bytes - spare_bytes);
}

}  // namespace lane
