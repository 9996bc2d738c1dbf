// Which launches of a step must follow which, whatever streams they run on.
//
// In: a step. Out: for each launch the earlier ones that it must follow: it reads what they wrote (true), overwrites
// what they read (anti) or wrote (output). What follows from other dependences may be left out.
#pragma once

#include <cstdint>
#include <vector>

#include "cpp/planner/step.h"

namespace lane {

// By launch, in program order; each list ascending and without repeats. Near-linear: an array forgets what a launch
// that overwrites all of it has put behind.
std::vector<std::vector<uint32_t>> dependences(const Step& step);

}  // namespace lane
