// Twenty thousand launches are planned and pass the checker, on every number of streams. bench/planning.cc times it.
#include <gtest/gtest.h>

#include "tests/cc/planner/planned_step.h"

namespace lane::test {
namespace {

TEST(Scale, TwentyThousandLaunches) {
  Random random(20'000);
  const RandomStep made(random, 20'000, 20);
  for (const size_t streams : {1, 4}) {
    const StreamPlan plan = plan_streams(made.step(), {streams, 0.1, -1e9});
    EXPECT_EQ(plan.streams, streams);
    const StepPlaces places = place(made.step(), arena_of(made.step(), plan, 4), made.pool_bytes(), 4);
    EXPECT_EQ(text_of(check_plan(made.step(), plan, places)), "");
  }
}

}  // namespace
}  // namespace lane::test
