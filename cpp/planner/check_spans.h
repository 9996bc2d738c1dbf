// The checker's own arithmetic on spans of bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "cpp/planner/step.h"

namespace lane {

struct CheckRun {
  int64_t begin, end;  // bytes of an array, half-open
};

// A span's runs, ascending; a span in one piece, or whose runs touch, is one run.
std::vector<CheckRun> runs_of(const ByteSpan& span);

// Runs in any order as disjoint runs, ascending.
std::vector<CheckRun> merged(std::vector<CheckRun> runs);

// A run of bytes in both, if there is one.
bool find_shared(const ByteSpan& a, const ByteSpan& b, CheckRun& shared);

// The first run of a span that runs, disjoint and ascending, leave uncovered, if there is one.
bool find_uncovered(const ByteSpan& span, const std::vector<CheckRun>& covered, CheckRun& uncovered);

}  // namespace lane
