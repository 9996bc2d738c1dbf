// The checker: proves a plan against the step it is for. It shares the data of step.h with the planners and no code.
//
// In: a step, the order in which its launches are issued and the waits between them, and where its arrays lie. Out:
// what is wrong, each finding with the launches, arrays and bytes it is about and the order that is missing. None
// means:
//   streams   every launch is issued once; every event is recorded before it is waited for; side streams fork from the
//             step's and join it
//   hazards   two launches that touch the same bytes of an array, not both reading, come one before the other, in the
//             order in which the step has them
//   bounds    every access lies in its array, every array in its arena or pool, at the alignment
//   values    every byte read was written before, by a launch of the step or ahead of it; constants are not written
//   overlap   two arrays share a byte of the arena only if all accesses to one come before all accesses to the other;
//             arrays of the pool share none
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cpp/planner/step.h"

namespace lane {

enum class Fault {
  kLaunches,   // a launch issued twice, or never
  kStream,     // a stream that the plan does not have
  kEvent,      // a wait for an event that is not recorded yet
  kFork,       // a side stream that starts before the step does
  kJoin,       // a launch that the step's end does not wait for
  kHazard,     // two accesses to one array in no order, or in the wrong one
  kBounds,     // an access outside its array
  kPlacement,  // an array outside its arena or pool, or at no multiple of the alignment
  kUnwritten,  // a read of bytes that nothing wrote before
  kReadOnly,   // a write to a constant
  kOverlap,    // arrays that share bytes while both are live
  kAccount,    // bytes of the pool that nothing accounts for
};

std::string_view fault_name(Fault fault);

struct Finding {
  Fault fault;
  std::string text;
};

// Where a plan put things, in bytes.
struct StepPlaces {
  int64_t alignment_bytes = 1;
  int64_t arena_bytes = 0;
  int64_t pool_bytes = 0;
  std::vector<int64_t> arena_offsets;  // by array of the step; not read for arrays of other spaces
};

// All findings, or where the plan is no order of the step's launches, only those about that. Near-linear in launches.
std::vector<Finding> check_plan(const Step& step, const StreamPlan& plan, const StepPlaces& places);

}  // namespace lane
