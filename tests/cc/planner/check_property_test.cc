// Random steps, planned: the checker passes every plan, and every order that the plan allows gives what program order
// gives. Then the plans are broken one change at a time: whatever change makes some order go wrong, the checker finds.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "cpp/planner/check.h"
#include "tests/cc/planner/planned_step.h"
#include "tests/cc/planner/toy_device.h"

namespace lane::test {
namespace {

TEST(CheckProperty, PlansPassAndEveryOrderTheyAllowIsRight) {
  size_t on_streams = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    const PlannedStep planned = random_planned_step(seed, 2 + static_cast<int64_t>(seed % 11));
    on_streams += planned.streams.streams > 1;
    const std::vector<Finding> findings = check_plan(planned.step, planned.streams, planned.places);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << text_of(findings);
    Random random(seed);
    ToyDevice device(planned.step, planned.streams, planned.places);
    ASSERT_FALSE(device.goes_wrong(random, 10)) << "seed " << seed;
  }
  EXPECT_GT(on_streams, 5'000u);
}

TEST(CheckProperty, LongPlansToo) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const PlannedStep planned = random_planned_step(seed, 50);
    const std::vector<Finding> findings = check_plan(planned.step, planned.streams, planned.places);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << text_of(findings);
    Random random(seed);
    ToyDevice device(planned.step, planned.streams, planned.places);
    ASSERT_FALSE(device.goes_wrong(random, 200)) << "seed " << seed;
  }
}

// One change to a good plan; nothing where the plan has nothing of that sort to change.
using Change = std::optional<PlannedStep> (*)(Random&, PlannedStep);

struct WaitAt {
  size_t issue, wait;
};

std::vector<WaitAt> waits_of(const StreamPlan& plan) {
  std::vector<WaitAt> waits;
  for (size_t i = 0; i < plan.issues.size(); ++i) {
    for (size_t w = 0; w < plan.issues[i].waits.size(); ++w) waits.push_back({i, w});
  }
  return waits;
}

template <typename T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[static_cast<size_t>(random.below(static_cast<int64_t>(from.size())))];
}

std::optional<PlannedStep> drop_event(Random& random, PlannedStep planned) {
  const std::vector<WaitAt> waits = waits_of(planned.streams);
  auto& joins = planned.streams.joins;
  if (waits.size() + joins.size() == 0) return std::nullopt;
  const int64_t which = random.below(static_cast<int64_t>(waits.size() + joins.size()));
  if (which < static_cast<int64_t>(waits.size())) {
    const WaitAt at = waits[static_cast<size_t>(which)];
    auto& list = planned.streams.issues[at.issue].waits;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(at.wait));
  } else {
    joins.erase(joins.begin() + (which - static_cast<int64_t>(waits.size())));
  }
  return planned;
}

std::optional<PlannedStep> retarget_wait(Random& random, PlannedStep planned) {
  const std::vector<WaitAt> waits = waits_of(planned.streams);
  if (waits.empty()) return std::nullopt;
  const WaitAt at = pick(random, waits);
  const auto launches = static_cast<int64_t>(planned.step.launches.size());
  planned.streams.issues[at.issue].waits[at.wait] = random.between(kStepStart, launches - 1);
  return planned;
}

std::optional<PlannedStep> shift_offset(Random& random, PlannedStep planned) {
  std::vector<size_t> placed;
  for (size_t i = 0; i < planned.step.arrays.size(); ++i) {
    if (planned.places.arena_offsets[i] >= 0) placed.push_back(i);
  }
  if (placed.empty()) return std::nullopt;
  int64_t& offset = planned.places.arena_offsets[pick(random, placed)];
  offset += planned.places.alignment_bytes * random.between(1, 3) * (random.one_in(2) ? 1 : -1);
  return planned;
}

// Plans the arena as if an array's last accesses, or its first, were not there.
std::optional<PlannedStep> cut_life(Random& random, PlannedStep planned) {
  Step shorter = planned.step;
  std::vector<uint32_t> candidates;
  for (uint32_t i = 0; i < shorter.arrays.size(); ++i) {
    if (planned.places.arena_offsets[i] >= 0) candidates.push_back(i);
  }
  if (candidates.empty()) return std::nullopt;
  const uint32_t array = pick(random, candidates);
  std::vector<size_t> touching;
  for (size_t l = 0; l < shorter.launches.size(); ++l) {
    for (const StepAccess& access : shorter.launches[l].accesses) {
      if (access.array == array && (touching.empty() || touching.back() != l)) touching.push_back(l);
    }
  }
  if (touching.size() < 2) return std::nullopt;
  const size_t launch = random.one_in(2) ? touching.front() : touching.back();
  std::erase_if(shorter.launches[launch].accesses, [&](const StepAccess& access) { return access.array == array; });
  planned.places = place(planned.step, arena_of(shorter, planned.streams, planned.places.alignment_bytes),
                         planned.places.pool_bytes, planned.places.alignment_bytes);
  return planned;
}

std::optional<PlannedStep> swap_launches(Random& random, PlannedStep planned) {
  auto& issues = planned.streams.issues;
  if (issues.size() < 2) return std::nullopt;
  const auto a = static_cast<size_t>(random.below(static_cast<int64_t>(issues.size())));
  const size_t b = a + 1 < issues.size() ? a + 1 : 0;
  std::swap(issues[a].launch, issues[b].launch);
  return planned;
}

std::optional<PlannedStep> move_to_stream(Random& random, PlannedStep planned) {
  if (planned.streams.streams < 2) return std::nullopt;
  auto& issues = planned.streams.issues;
  Issue& issue = issues[static_cast<size_t>(random.below(static_cast<int64_t>(issues.size())))];
  issue.stream = (issue.stream + 1) % static_cast<uint32_t>(planned.streams.streams);
  return planned;
}

// Plans the arena as if an array were smaller.
std::optional<PlannedStep> shrink_array(Random& random, PlannedStep planned) {
  StepArena arena = arena_of(planned.step, planned.streams, planned.places.alignment_bytes);
  std::vector<size_t> large;
  for (size_t i = 0; i < arena.problem.arrays.size(); ++i) {
    if (arena.problem.arrays[i].bytes > 1) large.push_back(i);
  }
  if (large.empty()) return std::nullopt;
  ArenaArray& array = arena.problem.arrays[pick(random, large)];
  array.bytes = random.between(1, array.bytes - 1);
  planned.places = place(planned.step, arena, planned.places.pool_bytes, planned.places.alignment_bytes);
  return planned;
}

// `strict` counts changes that the checker reports although no order tried went wrong. There are three sorts: arrays
// that share bytes of which the one has values that nothing reads any more (scratch, outputs without readers, parts of
// an array that no reader takes); unordered writes whose values are the same or are overwritten unread; and orders that
// the device was not made to try. The checker works from accesses and knows no values, so it reports all three: a
// planner never makes such a plan, and where one is wanted (a scratch array shared on purpose) it can be said as one
// array.
struct Tally {
  int made = 0, harmful = 0, missed = 0, strict = 0;
  std::map<std::string, int> strict_by_fault;
};

void record(const std::string& name, const Tally& tally) {
  testing::Test::RecordProperty(name + "_made", tally.made);
  testing::Test::RecordProperty(name + "_harmful", tally.harmful);
  testing::Test::RecordProperty(name + "_reported_though_no_order_tried_went_wrong", tally.strict);
  printf("%-15s %5d made, %5d harmful, %d of these missed; reported though harmless: %d", name.c_str(), tally.made,
         tally.harmful, tally.missed, tally.strict);
  for (const auto& [fault, count] : tally.strict_by_fault) printf(", %s %d", fault.c_str(), count);
  printf("\n");
}

// Makes changes until enough are harmful, and tells the checker's word from the device's.
Tally try_changes(const std::string& name, Change change, int most) {
  Tally tally;
  for (uint64_t seed = 0; tally.made < most && seed < 20'000; ++seed) {
    Random random(seed * 7919 + 1);
    const std::optional<PlannedStep> broken =
        change(random, random_planned_step(seed, 4 + static_cast<int64_t>(seed % 9)));
    if (!broken) continue;
    ++tally.made;
    const std::vector<Finding> findings = check_plan(broken->step, broken->streams, broken->places);
    ToyDevice device(broken->step, broken->streams, broken->places);
    const bool harmful = device.goes_wrong(random, 40);
    tally.harmful += harmful;
    if (harmful && findings.empty()) {
      ++tally.missed;
      ADD_FAILURE() << name << ", seed " << seed << ": harmful and not found";
    }
    if (harmful || findings.empty()) continue;
    ++tally.strict;
    ++tally.strict_by_fault[std::string(fault_name(findings.front().fault))];
  }
  record(name, tally);
  return tally;
}

TEST(CheckProperty, FindsEveryHarmfulChange) {
  const std::pair<const char*, Change> changes[] = {
      {"drop_event", drop_event},     {"retarget_wait", retarget_wait}, {"shift_offset", shift_offset},
      {"cut_life", cut_life},         {"swap_launches", swap_launches}, {"move_to_stream", move_to_stream},
      {"shrink_array", shrink_array},
  };
  int made = 0, harmful = 0;
  for (const auto& [name, change] : changes) {
    const Tally tally = try_changes(name, change, 1'000);
    EXPECT_EQ(tally.missed, 0) << name;
    EXPECT_GE(tally.harmful, 100) << name;
    made += tally.made;
    harmful += tally.harmful;
  }
  EXPECT_GE(made, 7'000);
  EXPECT_GE(harmful, 2'000);
}

}  // namespace
}  // namespace lane::test
