// What the checker proves of each array by itself: bounds, hazards, values. See check.h.
#pragma once

#include <vector>

#include "cpp/planner/check.h"
#include "cpp/planner/check_order.h"

namespace lane {

void check_accesses(const Step& step, const CheckOrder& order, std::vector<Finding>& findings);

}  // namespace lane
