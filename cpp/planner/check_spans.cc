#include "cpp/planner/check_spans.h"

#include <algorithm>

namespace lane {

std::vector<CheckRun> runs_of(const ByteSpan& span) {
  if (span.count == 1 || span.pitch == span.width) return {{span.begin, span.end()}};
  std::vector<CheckRun> runs;
  runs.reserve(static_cast<size_t>(span.count));
  for (int64_t i = 0; i < span.count; ++i) {
    const int64_t begin = span.begin + i * span.pitch;
    runs.push_back({begin, begin + span.width});
  }
  return runs;
}

std::vector<CheckRun> merged(std::vector<CheckRun> runs) {
  std::ranges::sort(runs, {}, &CheckRun::begin);
  std::vector<CheckRun> joined;
  for (const CheckRun& run : runs) {
    if (!joined.empty() && run.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, run.end);
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

bool find_shared(const ByteSpan& a, const ByteSpan& b, CheckRun& shared) {
  if (a.begin >= b.end() || b.begin >= a.end()) return false;
  const std::vector<CheckRun> left = runs_of(a), right = runs_of(b);
  for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    shared = {std::max(left[i].begin, right[j].begin), std::min(left[i].end, right[j].end)};
    if (shared.begin < shared.end) return true;
    left[i].end <= right[j].end ? ++i : ++j;
  }
  return false;
}

bool find_uncovered(const ByteSpan& span, const std::vector<CheckRun>& covered, CheckRun& uncovered) {
  size_t next = 0;
  for (const CheckRun& run : runs_of(span)) {
    while (next < covered.size() && covered[next].end <= run.begin) ++next;
    int64_t from = run.begin;
    if (next < covered.size() && covered[next].begin <= from) from = covered[next].end;
    if (from >= run.end) continue;
    const size_t after = next < covered.size() && covered[next].begin <= run.begin ? next + 1 : next;
    uncovered = {from, after < covered.size() ? std::min(run.end, covered[after].begin) : run.end};
    return true;
  }
  return false;
}

}  // namespace lane
