#include "cpp/planner/check.h"

#include <algorithm>

#include "cpp/planner/check_accesses.h"
#include "cpp/planner/check_order.h"
#include "cpp/planner/check_places.h"

namespace lane {

std::string_view fault_name(Fault fault) {
  switch (fault) {
    case Fault::kLaunches:
      return "launches";
    case Fault::kStream:
      return "stream";
    case Fault::kEvent:
      return "event";
    case Fault::kFork:
      return "fork";
    case Fault::kJoin:
      return "join";
    case Fault::kHazard:
      return "hazard";
    case Fault::kBounds:
      return "bounds";
    case Fault::kPlacement:
      return "placement";
    case Fault::kUnwritten:
      return "unwritten";
    case Fault::kReadOnly:
      return "read_only";
    case Fault::kOverlap:
      return "overlap";
    case Fault::kAccount:
      return "account";
  }
  return "unknown";
}

std::vector<Finding> check_plan(const Step& step, const StreamPlan& plan, const StepPlaces& places) {
  std::vector<Finding> findings;
  const CheckOrder order(step, plan, findings);
  if (!order.is_order()) return findings;
  check_accesses(step, order, findings);
  check_places(step, order, places, findings);
  return findings;
}

}  // namespace lane
