#include "cpp/planner/residence.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cpp/planner/concat.h"
#include "cpp/runtime/error.h"

namespace lane {

std::vector<uint32_t> order_to_move(const std::vector<MovableMatrix>& matrices) {
  for (const MovableMatrix& matrix : matrices) {
    if (matrix.bytes >= 0 && matrix.read_bytes >= 0) continue;
    throw Error(ErrorKind::kUsage,
                concat("residence: matrix '", matrix.name, "': found ", matrix.bytes, " bytes of which a step reads ",
                       matrix.read_bytes, ", allowed 0 or more of both"));
  }
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

}  // namespace lane
