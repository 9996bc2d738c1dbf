// The stream planner: which launches of a step run beside others, on side streams.
//
// In: a step with each launch's time and share of the device, and what an event costs. Out: a stream for each launch,
// the launches that it waits for, and what the step's end waits for. Promise: every dependence is ordered; no wait
// follows from others; a side stream forks from the step's and joins it; more than one stream only where the model
// gains by it.
//
// The model: launches of one stream run one after the other, those of different streams at once. As long as the shares
// of what runs at once add up to at most the whole device, each takes the time that it takes alone; past that all slow
// down alike. A launch that waits for one on another stream starts `event_us` after it at the earliest. So two
// projections that each fill the device gain nothing, and small launches beside a large one their own time.
#pragma once

#include <cstdint>
#include <vector>

#include "cpp/planner/step.h"

namespace lane {

struct StreamOptions {
  size_t most_streams = 1;
  double event_us = 1.0;
  double least_gain = 0.01;  // the part of the step's time that must be gained for a further stream
};

// Throws a usage error for a number of streams that is not 1 to kMaxStreams, and for negative times or shares.
StreamPlan plan_streams(const Step& step, const StreamOptions& options);

// The plan with every launch on the step's stream.
StreamPlan one_stream(const Step& step);

// The plan with each launch on the stream named for it, in program order, and the waits which that needs.
StreamPlan plan_on_streams(const Step& step, const std::vector<uint32_t>& streams);

// How long a step takes by the model.
double simulate_us(const Step& step, const StreamPlan& plan, double event_us);

}  // namespace lane
