// Planning and checking twenty thousand launches: in time, and in little more than in proportion to half as many.
#include <gtest/gtest.h>

#include <ctime>

#include "tests/cc/planner/planned_step.h"

namespace lane::test {
namespace {

// Processor seconds: what else the machine runs does not count.
double seconds_of(int64_t launches, size_t streams) {
  Random random(static_cast<uint64_t>(launches));
  const RandomStep made(random, launches, 20);
  const std::clock_t start = std::clock();
  const StreamPlan plan = plan_streams(made.step(), {streams, 0.1, -1e9});
  const StepPlaces places = place(made.step(), arena_of(made.step(), plan, 4), made.pool_bytes(), 4);
  const std::vector<Finding> findings = check_plan(made.step(), plan, places);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(text_of(findings), "");
  EXPECT_EQ(plan.streams, streams);
  return seconds;
}

TEST(Scale, TwentyThousandLaunchesAreAMatterOfASecond) {
  for (const size_t streams : {1, 2, 4}) {
    const double half = seconds_of(10'000, streams), whole = seconds_of(20'000, streams);
    printf("%zu streams: %.3f s for 10,000 launches, %.3f s for 20,000\n", streams, half, whole);
    EXPECT_LT(whole, 2.0);
    EXPECT_LT(whole, 4 * half + 0.1);  // linear is twice; the rest is noise and the logarithms
  }
}

}  // namespace
}  // namespace lane::test
