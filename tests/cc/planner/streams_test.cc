// The stream planner: dependences are all ordered, no wait is one too many, and side streams are taken where they gain.
#include "cpp/planner/streams.h"

#include <gtest/gtest.h>

#include "cpp/planner/clocks.h"
#include "cpp/planner/dependences.h"
#include "cpp/runtime/error.h"
#include "tests/cc/planner/planned_step.h"

namespace lane::test {
namespace {

std::vector<bool> bytes_of(const ByteSpan& span) {
  std::vector<bool> set(64);
  for (int64_t i = 0; i < span.count; ++i) {
    for (int64_t b = 0; b < span.width; ++b) set[static_cast<size_t>(span.begin + i * span.pitch + b)] = true;
  }
  return set;
}

bool must_follow(const StepLaunch& earlier, const StepLaunch& later) {
  for (const StepAccess& a : earlier.accesses) {
    for (const StepAccess& b : later.accesses) {
      if (a.array != b.array || (a.effect == Effect::kRead && b.effect == Effect::kRead)) continue;
      const std::vector<bool> left = bytes_of(a.span), right = bytes_of(b.span);
      for (size_t i = 0; i < left.size(); ++i) {
        if (left[i] && right[i]) return true;
      }
    }
  }
  return false;
}

TEST(Dependences, AreThoseOfTheBytesTouched) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const Step step = RandomStep(random, 30).step();
    const auto follows = dependences(step);
    std::vector<std::vector<bool>> after(step.launches.size(), std::vector<bool>(step.launches.size()));
    for (size_t later = 0; later < step.launches.size(); ++later) {
      for (const uint32_t earlier : follows[later]) {
        ASSERT_LT(earlier, later);
        EXPECT_TRUE(must_follow(step.launches[earlier], step.launches[later])) << seed;
        after[later][earlier] = true;
        for (size_t l = 0; l < earlier; ++l) after[later][l] = after[later][l] || after[earlier][l];
      }
      for (size_t earlier = 0; earlier < later; ++earlier) {
        const bool needed = must_follow(step.launches[earlier], step.launches[later]);
        EXPECT_TRUE(after[later][earlier] || !needed) << seed;
      }
    }
  }
}

bool orders_all(const Step& step, const StreamPlan& plan) {
  const Clocks clocks(plan);
  for (uint32_t later = 0; later < step.launches.size(); ++later) {
    for (uint32_t earlier = 0; earlier < later; ++earlier) {
      const bool needed = must_follow(step.launches[earlier], step.launches[later]);
      if (needed && !clocks.before(earlier, later)) return false;
    }
  }
  return true;
}

TEST(Streams, EveryWaitIsNeeded) {
  int waits = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Step step = RandomStep(random, 20).step();
    const StreamPlan plan = random_streams(random, step);
    ASSERT_TRUE(orders_all(step, plan)) << seed;
    for (size_t i = 0; i < plan.issues.size(); ++i) {
      for (size_t w = 0; w < plan.issues[i].waits.size(); ++w, ++waits) {
        StreamPlan without = plan;
        auto& list = without.issues[i].waits;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(w));
        if (plan.issues[i].waits[w] == kStepStart) continue;
        EXPECT_FALSE(orders_all(step, without)) << "seed " << seed << ", launch " << plan.issues[i].launch;
      }
    }
  }
  EXPECT_GT(waits, 1'000);
}

// A chain of `length` launches for each share, side by side from one array to one sum.
Step chains(const std::vector<double>& shares, int length, double us) {
  Step step;
  const auto launch = [&](double share, std::vector<uint32_t> reads) {
    const auto out = static_cast<uint32_t>(step.arrays.size());
    step.arrays.push_back({"x" + std::to_string(out), 4, Space::kArena, 0, false, false});
    StepLaunch made{"op" + std::to_string(out), {}, us, share};
    for (const uint32_t array : reads) made.accesses.push_back({array, Effect::kRead, {0, 4, 0, 1}});
    made.accesses.push_back({out, Effect::kWrite, {0, 4, 0, 1}});
    step.launches.push_back(made);
    return out;
  };
  const uint32_t root = launch(1, {});
  std::vector<uint32_t> ends;
  for (const double share : shares) {
    uint32_t at = root;
    for (int i = 0; i < length; ++i) at = launch(share, {at});
    ends.push_back(at);
  }
  launch(1, ends);
  return step;
}

TEST(Streams, SmallLaunchesRunBesideOneAnother) {
  const Step step = chains({0.2, 0.2, 0.2}, 10, 5);
  const StreamPlan plan = plan_streams(step, {3, 1.0, 0.01});
  EXPECT_EQ(plan.streams, 3u);
  EXPECT_DOUBLE_EQ(simulate_us(step, one_stream(step), 1.0), 32 * 5);
  // The root, ten launches and the sum one after the other; a fork's event and a join's.
  EXPECT_DOUBLE_EQ(simulate_us(step, plan, 1.0), 12 * 5 + 2);
  EXPECT_EQ(plan_streams(step, {2, 1.0, 0.01}).streams, 2u);
}

TEST(Streams, LaunchesThatFillTheDeviceStayOnOneStream) {
  const Step step = chains({1.0, 1.0}, 10, 5);
  EXPECT_EQ(plan_streams(step, {4, 1.0, 0.01}).streams, 1u);
}

TEST(Streams, EventsThatCostMoreThanTheyGainAreNotTaken) {
  const Step step = chains({0.2, 0.2}, 1, 2);
  EXPECT_EQ(plan_streams(step, {4, 0.1, 0.01}).streams, 2u);
  EXPECT_EQ(plan_streams(step, {4, 3.0, 0.01}).streams, 1u);
}

TEST(Streams, OneStreamNeedsNoWaits) {
  const Step step = chains({0.2, 0.2}, 3, 5);
  const StreamPlan plan = plan_streams(step, {1, 1.0, 0.01});
  EXPECT_EQ(plan.streams, 1u);
  EXPECT_TRUE(plan.joins.empty());
  for (const Issue& issue : plan.issues) EXPECT_TRUE(issue.waits.empty());
}

TEST(Streams, ASideStreamForksAndJoins) {
  Step step = chains({0.2}, 1, 5);
  // A launch that depends on nothing and that nothing depends on.
  step.arrays.push_back({"alone", 4, Space::kArena, 0, false, false});
  step.launches.push_back({"alone", {{3, Effect::kWrite, {0, 4, 0, 1}}}, 5, 0.1});
  const StreamPlan plan = plan_on_streams(step, {0, 0, 0, 1});
  EXPECT_EQ(plan.issues[3].waits, std::vector<int64_t>{kStepStart});
  EXPECT_EQ(plan.joins, std::vector<int64_t>{3});
  EXPECT_EQ(plan_on_streams(step, {0, 1, 0, 0}).joins, std::vector<int64_t>{});  // the sum waits for it
}

TEST(Streams, SimulatedTimesShareTheDevice) {
  const Step step = chains({0.75, 0.75}, 1, 6);
  const StreamPlan plan = plan_on_streams(step, {0, 0, 1, 0});
  // The two together take 1.5 of the device: from the event on at 2/3 speed. The first has 5.5 µs left when the second
  // begins and ends at 6 + 0.5 + 8.25 = 14.75; the second has 0.5 left then, ends at 15.25, and its event comes
  // at 15.75.
  EXPECT_DOUBLE_EQ(simulate_us(step, plan, 0.5), 15.75 + 6);
}

TEST(Streams, RefusesWhatMakesNoSense) {
  const Step step = chains({0.2}, 1, 5);
  EXPECT_THROW(plan_streams(step, {0, 1.0, 0.01}), Error);
  EXPECT_THROW(plan_streams(step, {5, 1.0, 0.01}), Error);
  EXPECT_THROW(plan_streams(step, {2, -1.0, 0.01}), Error);
  EXPECT_THROW(plan_streams(chains({1.5}, 1, 5), {2, 1.0, 0.01}), Error);
  EXPECT_THROW(plan_streams(chains({0.5}, 1, -5), {2, 1.0, 0.01}), Error);
}

}  // namespace
}  // namespace lane::test
