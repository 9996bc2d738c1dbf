// The arena problem of a step under a stream plan.
//
// In: a step, its stream plan. Out: the arrays of the arena that some launch touches, each live from its first access
// to its last in the order that the plan declares.
#pragma once

#include <cstdint>
#include <vector>

#include "cpp/planner/arena.h"
#include "cpp/planner/step.h"

namespace lane {

struct StepArena {
  ArenaProblem problem;
  std::vector<uint32_t> arrays;  // of the step, by array of the problem
};

StepArena arena_of(const Step& step, const StreamPlan& plan, int64_t alignment_bytes);

}  // namespace lane
