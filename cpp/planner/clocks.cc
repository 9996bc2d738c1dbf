#include "cpp/planner/clocks.h"

#include <algorithm>

namespace lane {

Clocks::Clocks(const StreamPlan& plan) : Clocks(plan.issues.size()) {
  for (const Issue& issue : plan.issues) {
    this->issue(issue.launch, issue.stream);
    for (const int64_t other : issue.waits) {
      if (other != kStepStart) wait(issue.launch, static_cast<uint32_t>(other));
    }
  }
}

void Clocks::issue(uint32_t launch, uint32_t stream) {
  stream_[launch] = stream;
  place_[launch] = at_end_[stream][stream];
  before_[launch] = at_end_[stream];
  ++at_end_[stream][stream];
}

void Clocks::wait(uint32_t launch, uint32_t other) {
  Counts& counts = before_[launch];
  for (size_t s = 0; s < kMaxStreams; ++s) counts[s] = std::max(counts[s], before_[other][s]);
  counts[stream_[other]] = std::max(counts[stream_[other]], place_[other] + 1);
  Counts& end = at_end_[stream_[launch]];
  end = counts;
  end[stream_[launch]] = place_[launch] + 1;
}

}  // namespace lane
