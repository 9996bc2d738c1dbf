// The checker, fault by fault: a good plan passes, and for every fault there is a plan that is reported for it by name,
// launch, array and bytes.
#include "cpp/planner/check.h"

#include <gtest/gtest.h>

#include "cpp/planner/check_places.h"
#include "cpp/planner/check_spans.h"
#include "tests/cc/planner/planned_step.h"

namespace lane::test {
namespace {

// in (pool) -> a; a -> b; a, b -> c, which updates state (pool). b runs on a side stream.
PlannedStep good() {
  PlannedStep planned;
  planned.step.arrays = {
      {"in", 8, Space::kPool, 0, true, true},     {"a", 16, Space::kArena, 0, false, false},
      {"b", 8, Space::kArena, 0, false, false},   {"c", 8, Space::kArena, 0, false, false},
      {"state", 8, Space::kPool, 8, true, false},
  };
  const auto whole = [&](uint32_t array) { return ByteSpan{0, planned.step.arrays[array].bytes, 0, 1}; };
  planned.step.launches = {
      {"make a", {{0, Effect::kRead, whole(0)}, {1, Effect::kWrite, whole(1)}}, 1, 1},
      {"make b", {{1, Effect::kRead, whole(1)}, {2, Effect::kWrite, whole(2)}}, 1, 1},
      {"make c", {{1, Effect::kRead, whole(1)}, {3, Effect::kWrite, whole(3)}, {4, Effect::kUpdate, whole(4)}}, 1, 1},
      {"use", {{2, Effect::kRead, whole(2)}, {3, Effect::kRead, whole(3)}, {4, Effect::kUpdate, whole(4)}}, 1, 1},
  };
  planned.streams = {2, {{0, 0, {}}, {1, 1, {0}}, {2, 0, {}}, {3, 0, {1}}}, {}};
  planned.places = {8, 32, 16, {-1, 0, 16, 24, -1}};
  return planned;
}

std::vector<Finding> check(const PlannedStep& planned) {
  return check_plan(planned.step, planned.streams, planned.places);
}

void expect_found(const PlannedStep& planned, Fault fault, const std::string& says) {
  const std::vector<Finding> findings = check(planned);
  for (const Finding& finding : findings) {
    if (finding.fault == fault && finding.text.find(says) != std::string::npos) return;
  }
  ADD_FAILURE() << "no finding says '" << says << "':\n" << text_of(findings);
}

TEST(Check, PassesAGoodPlan) { EXPECT_EQ(text_of(check(good())), ""); }

TEST(Check, Launches) {
  PlannedStep planned = good();
  planned.streams.issues.pop_back();
  expect_found(planned, Fault::kLaunches, "launch 3 'use' is not issued");
  planned = good();
  planned.streams.issues[2].launch = 1;
  expect_found(planned, Fault::kLaunches, "issue 2: launch 1 is issued a second time");
  planned.streams.issues[2].launch = 9;
  expect_found(planned, Fault::kLaunches, "issue 2: launch 9, the step has 4");
}

TEST(Check, Stream) {
  PlannedStep planned = good();
  planned.streams.issues[1].stream = 2;
  expect_found(planned, Fault::kStream, "issue 1: stream 2, the plan has 2");
  planned.streams.streams = 5;
  expect_found(planned, Fault::kStream, "streams: found 5, allowed 1 to 4");
}

TEST(Check, Event) {
  PlannedStep planned = good();
  planned.streams.issues[1].waits = {3};
  expect_found(planned, Fault::kEvent, "launch 1 'make b' waits for launch 3, whose event is not recorded by then");
  planned = good();
  planned.streams.joins = {7};
  expect_found(planned, Fault::kEvent, "the step's end waits for launch 7, the step has 4");
}

TEST(Check, Fork) {
  PlannedStep planned = good();
  planned.streams.issues[1].waits = {};
  expect_found(planned, Fault::kFork, "launch 1 'make b' on stream 1 follows neither the step's start");
  planned.streams.issues[1].waits = {kStepStart};
  for (const Finding& finding : check(planned)) EXPECT_NE(finding.fault, Fault::kFork);
}

TEST(Check, Join) {
  PlannedStep planned = good();
  planned.streams.issues[3].waits = {};
  expect_found(planned, Fault::kJoin, "the step's end does not wait for launch 1 'make b' on stream 1");
}

TEST(Check, HazardTrue) {
  PlannedStep planned = good();
  planned.streams.issues[3].waits = {};
  expect_found(planned, Fault::kHazard,
               "launch 3 'use' on stream 0 reads bytes [0, 8) of 'b', which launch 1 'make b' on stream 1 writes: that "
               "must come before, and nothing orders them");
}

TEST(Check, HazardAntiAndOutput) {
  PlannedStep planned = good();
  const ByteSpan half{8, 8, 0, 1};
  planned.step.launches.push_back({"again", {{1, Effect::kWrite, half}}, 1, 1});
  planned.streams.issues.push_back({4, 1, {}});
  planned.streams.joins = {4};
  expect_found(planned, Fault::kHazard, "launch 4 'again' on stream 1 writes bytes [8, 16) of 'a', which launch 2");
  planned.streams.issues[1].waits = {kStepStart};
  expect_found(planned, Fault::kHazard, "launch 4 'again' on stream 1 writes bytes [8, 16) of 'a', which launch 0");
}

TEST(Check, HazardInTheWrongOrder) {
  PlannedStep planned = good();
  std::swap(planned.streams.issues[2].launch, planned.streams.issues[3].launch);
  expect_found(planned, Fault::kHazard,
               "of 'state', which launch 2 'make c' on stream 0 updates: that must come before, "
               "and the plan has it after");
}

TEST(Check, Bounds) {
  PlannedStep planned = good();
  planned.step.launches[1].accesses[0].span.begin = 1;
  expect_found(planned, Fault::kBounds, "launch 1 'make b' on stream 1 reads 16 bytes from 1 on of 'a', which has 16");
  planned.step.launches[1].accesses[0].span = {0, 4, 5, 4};
  expect_found(planned, Fault::kBounds, "reads 4 runs, 5 bytes apart, of 4 bytes from 0 on of 'a', which has 16");
  for (const ByteSpan& span : {ByteSpan{-1, 4, 0, 1}, ByteSpan{0, 0, 0, 1}, ByteSpan{0, 4, 2, 2}, ByteSpan{0, 4, 4, 0},
                               ByteSpan{0, 1, int64_t{1} << 62, 8}}) {
    planned.step.launches[1].accesses[0].span = span;
    expect_found(planned, Fault::kBounds, "launch 1 'make b'");
  }
  planned = good();
  planned.step.launches[1].accesses[0].array = 9;
  expect_found(planned, Fault::kBounds, "launch 1 'make b' on stream 1 touches array 9, the step has 5");
}

TEST(Check, Placement) {
  PlannedStep planned = good();
  planned.places.arena_offsets[3] = 32;
  expect_found(planned, Fault::kPlacement, "'c' has 8 bytes from 32 on of the arena, which has 32");
  planned.places.arena_offsets[3] = -8;
  expect_found(planned, Fault::kPlacement, "'c' has 8 bytes from -8 on of the arena");
  planned.places.arena_offsets[3] = 20;
  expect_found(planned, Fault::kPlacement, "'c' begins at byte 20 of the arena, allowed a multiple of 8");
  planned.places.arena_offsets.pop_back();
  planned.places.arena_offsets.pop_back();
  expect_found(planned, Fault::kPlacement, "'c' has 8 bytes from -1 on");
  planned = good();
  planned.places.alignment_bytes = 0;
  expect_found(planned, Fault::kPlacement, "alignment: found 0 bytes, allowed 1 or more");
  planned = good();
  planned.step.arrays[4].pool_offset = 16;
  expect_found(planned, Fault::kPlacement, "'state' has 8 bytes from 16 on of the pool, which has 16");
}

TEST(Check, Unwritten) {
  PlannedStep planned = good();
  planned.step.launches[0].accesses[1].span.width = 12;
  expect_found(planned, Fault::kUnwritten,
               "launch 1 'make b' on stream 1 reads bytes [0, 16) of 'a', of which bytes [12, 16) no launch before it");
  planned = good();
  planned.step.launches[0].accesses[1].effect = Effect::kUpdate;
  expect_found(planned, Fault::kUnwritten, "launch 0 'make a' on stream 0 updates bytes [0, 16) of 'a'");
  planned = good();
  planned.step.arrays[4].holds_values = false;
  expect_found(planned, Fault::kUnwritten, "launch 2 'make c' on stream 0 updates bytes [0, 8) of 'state'");
}

TEST(Check, PartsTogetherAreWritten) {
  PlannedStep planned = good();
  StepLaunch& make_a = planned.step.launches[0];
  make_a.accesses[1].span = {0, 1, 4, 4};
  make_a.accesses.push_back({1, Effect::kWrite, {1, 2, 4, 4}});
  expect_found(planned, Fault::kUnwritten, "of which bytes [3, 4) no launch before it writes");
  make_a.accesses.push_back({1, Effect::kWrite, {3, 1, 4, 4}});
  EXPECT_EQ(text_of(check(planned)), "");
}

TEST(Check, ReadOnly) {
  PlannedStep planned = good();
  planned.step.launches[3].accesses.push_back({0, Effect::kWrite, {0, 8, 0, 1}});
  expect_found(planned, Fault::kReadOnly, "launch 3 'use' on stream 0 writes bytes [0, 8) of 'in', which is constant");
}

TEST(Check, Overlap) {
  PlannedStep planned = good();
  planned.places.arena_offsets[3] = 16;
  expect_found(planned, Fault::kOverlap, "'b' and 'c' share bytes [16, 24) of the arena");
  planned.places.arena_offsets[3] = 8;
  expect_found(planned, Fault::kOverlap, "'a' and 'c' share bytes [8, 16) of the arena");
  planned = good();
  planned.step.arrays[4].pool_offset = 0;
  expect_found(planned, Fault::kOverlap, "'in' and 'state' share bytes [0, 8) of the pool");
}

TEST(Check, OverlapOfALaunchsOwnArrays) {
  PlannedStep planned = good();
  planned.step.arrays.push_back({"scratch", 8, Space::kArena, 0, false, false});
  planned.step.launches[3].accesses.push_back({5, Effect::kWrite, {0, 8, 0, 1}});
  planned.places.arena_offsets.push_back(0);  // where `a` was, whose last reader is done
  EXPECT_EQ(text_of(check(planned)), "");
  planned.places.arena_offsets.back() = 16;
  expect_found(planned, Fault::kOverlap, "'b' and 'scratch' share bytes [16, 24) of the arena");
}

TEST(Check, ThePoolIsAccountedForToTheByte) {
  const std::vector<PoolPart> parts = {{"b", 64, 100}, {"a", 0, 64}, {"c", 192, 60}};
  EXPECT_EQ(text_of(check_pool(parts, 256, 64)), "");
  EXPECT_EQ(text_of(check_pool(parts, 320, 64)),
            "account: bytes [252, 320) of the pool, before its end, belong to no part of it\n");
  EXPECT_EQ(text_of(check_pool({parts[0], parts[2]}, 256, 64)),
            "account: bytes [0, 64) of the pool, before 'b', belong to no part of it\n");
  EXPECT_EQ(text_of(check_pool({parts[0], parts[1], parts[2], {"d", 128, 64}}, 256, 64)),
            "overlap: 'b' and 'd' share bytes [128, 164) of the pool\n");
  EXPECT_EQ(text_of(check_pool({parts[1], {"e", 96, 160}}, 256, 64)),
            "placement: 'e' begins at byte 96 of the pool, allowed a multiple of 64\n"
            "account: bytes [64, 256) of the pool, before its end, belong to no part of it\n");
  EXPECT_EQ(text_of(check_pool({{"f", 0, 300}}, 256, 64)),
            "placement: 'f' has 300 bytes from 0 on of the pool, which has 256\n"
            "account: bytes [0, 256) of the pool, before its end, belong to no part of it\n");
}

// Every pair of small spans, against their bytes one by one.
TEST(CheckSpans, AgreeWithBytes) {
  std::vector<ByteSpan> spans;
  for (int64_t begin : {0, 1, 3}) {
    for (int64_t width : {1, 2, 3}) {
      spans.push_back({begin, width, 0, 1});
      for (int64_t pitch = width; pitch < 5; ++pitch) {
        for (int64_t count : {2, 3}) spans.push_back({begin, width, pitch, count});
      }
    }
  }
  const auto bytes = [](const ByteSpan& span) {
    uint64_t set = 0;
    for (int64_t i = 0; i < span.count; ++i) {
      for (int64_t b = 0; b < span.width; ++b) set |= uint64_t{1} << (span.begin + i * span.pitch + b);
    }
    return set;
  };
  for (const ByteSpan& a : spans) {
    for (const ByteSpan& b : spans) {
      CheckRun run{};
      ASSERT_EQ(find_shared(a, b, run), (bytes(a) & bytes(b)) != 0);
      ASSERT_EQ(find_uncovered(a, merged(runs_of(b)), run), (bytes(a) & ~bytes(b)) != 0);
      if ((bytes(a) & ~bytes(b)) == 0) continue;
      const uint64_t found = bytes({run.begin, run.end - run.begin, 0, 1});
      ASSERT_EQ(found & bytes(a) & ~bytes(b), found);
    }
  }
}

}  // namespace
}  // namespace lane::test
