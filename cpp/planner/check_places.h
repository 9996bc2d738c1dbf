// What the checker proves of where arrays lie: placement, overlap, the pool's account. See check.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpp/planner/check.h"
#include "cpp/planner/check_order.h"

namespace lane {

void check_places(const Step& step, const CheckOrder& order, const StepPlaces& places, std::vector<Finding>& findings);

// One part of a pool: an array, or all that is taken for one purpose.
struct PoolPart {
  std::string name;
  int64_t offset;
  int64_t bytes;
};

// Proves that the parts lie in the pool at the alignment, share no byte, and leave none of it but padding.
std::vector<Finding> check_pool(std::vector<PoolPart> parts, int64_t pool_bytes, int64_t alignment_bytes);

}  // namespace lane
