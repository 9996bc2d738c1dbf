// The arena planner: answers are valid, their bound is the true one, and where a problem is small enough to try
// everything, they are the best there is.
#include "cpp/planner/arena.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "cpp/runtime/error.h"
#include "tests/cc/planner/random_order.h"

namespace lane::test {
namespace {

int64_t aligned(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

ArenaAnswer plan(const ArenaProblem& problem) { return plan_arena(problem, arena_strategies()); }

ArenaArray interval(const std::string& name, int64_t bytes, int64_t begin, int64_t end) {
  ArenaArray array{name, bytes, {}};
  array.life.begin[0] = begin;
  array.life.end[0] = end;
  return array;
}

void expect_valid(const RandomArena& arena, const ArenaAnswer& answer) {
  const auto& arrays = arena.problem.arrays;
  int64_t top = 0;
  ASSERT_EQ(answer.offsets.size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    const int64_t offset = answer.offsets[i], end = offset + arrays[i].bytes;
    EXPECT_GE(offset, 0);
    EXPECT_EQ(offset % arena.problem.alignment_bytes, 0);
    top = std::max(top, aligned(end, arena.problem.alignment_bytes));
    for (size_t j = 0; j < i; ++j) {
      const bool disjoint = end <= answer.offsets[j] || answer.offsets[j] + arrays[j].bytes <= offset;
      EXPECT_TRUE(disjoint || arena.apart(i, j)) << "arrays " << i << " and " << j;
    }
  }
  EXPECT_EQ(answer.total_bytes, top);
}

// The heaviest set of arrays no two of which are apart, by trying every set.
int64_t heaviest_set(const RandomArena& arena) {
  const size_t n = arena.problem.arrays.size();
  std::vector<uint32_t> apart_from(n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) apart_from[i] |= static_cast<uint32_t>(i != j && arena.apart(i, j)) << j;
  }
  int64_t heaviest = 0;
  for (uint32_t set = 0; set < uint32_t{1} << n; ++set) {
    int64_t bytes = 0;
    for (uint32_t rest = set; rest != 0 && bytes >= 0; rest &= rest - 1) {
      const size_t i = static_cast<size_t>(std::countr_zero(rest));
      const bool alone = (apart_from[i] & set) == 0;
      bytes = alone ? bytes + aligned(arena.problem.arrays[i].bytes, arena.problem.alignment_bytes) : -1;
    }
    heaviest = std::max(heaviest, bytes);
  }
  return heaviest;
}

// The fewest bytes of any placement, by trying every order: the best placement, its arrays taken by their offsets, is
// found when each is put on top of those before it that it may not overlap.
int64_t fewest_bytes(const RandomArena& arena) {
  const auto& arrays = arena.problem.arrays;
  std::vector<size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t fewest = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> ends(arrays.size());
  do {
    int64_t top = 0;
    for (size_t p = 0; p < order.size() && top < fewest; ++p) {
      int64_t offset = 0;
      for (size_t q = 0; q < p; ++q) {
        if (!arena.apart(order[p], order[q])) offset = std::max(offset, ends[order[q]]);
      }
      ends[order[p]] = offset + aligned(arrays[order[p]].bytes, arena.problem.alignment_bytes);
      top = std::max(top, ends[order[p]]);
    }
    fewest = std::min(fewest, top);
  } while (std::ranges::next_permutation(order).found);
  return fewest;
}

TEST(Arena, AnswersAreValidAndBoundedTruly) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomArena arena = random_arena(seed, 1 + seed % kMaxStreams, 3 + seed % 11, 40);
    arena.problem.alignment_bytes = seed % 3 == 0 ? 16 : 1;
    const ArenaAnswer answer = plan(arena.problem);
    SCOPED_TRACE(seed);
    expect_valid(arena, answer);
    EXPECT_EQ(answer.lower_bound_bytes, heaviest_set(arena));
    EXPECT_GE(answer.total_bytes, answer.lower_bound_bytes);
  }
}

TEST(Arena, LargeAnswersAreValid) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const RandomArena arena = random_arena(seed, 1 + seed % kMaxStreams, 300, 5000);
    SCOPED_TRACE(seed);
    expect_valid(arena, plan(arena.problem));
  }
}

TEST(Arena, EveryStrategyAloneIsValid) {
  for (const std::string& name : arena_strategies()) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const RandomArena arena = random_arena(seed, 1 + seed % kMaxStreams, 20, 100);
      const ArenaAnswer answer = plan_arena(arena.problem, std::vector{name});
      SCOPED_TRACE(name);
      expect_valid(arena, answer);
      EXPECT_EQ(answer.strategy, name);
    }
  }
}

TEST(Arena, SmallProblemsAreSolvedExactly) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomArena arena = random_arena(seed, 1 + seed % kMaxStreams, 4 + seed % 4, 9);
    const ArenaAnswer answer = plan(arena.problem);
    EXPECT_EQ(answer.total_bytes, fewest_bytes(arena)) << seed;
    EXPECT_TRUE(answer.optimal) << seed;
  }
}

// Nine arrays of which at most 10 bytes are live at once, and which no 10 bytes hold.
TEST(Arena, SolvesExactlyWhereTheBoundCannotBeMet) {
  const ArenaProblem problem{1,
                             1,
                             {interval("a", 2, 4, 7), interval("b", 2, 4, 6), interval("c", 1, 2, 6),
                              interval("d", 4, 6, 7), interval("e", 3, 2, 4), interval("f", 2, 5, 7),
                              interval("g", 3, 3, 5), interval("h", 2, 2, 7), interval("i", 4, 1, 3)}};
  Random random(0);
  RandomArena arena{problem, RandomOrder(random, 1, 7), {}};
  for (const ArenaArray& array : problem.arrays) {
    arena.touched.push_back({size_t(array.life.begin[0]), size_t(array.life.end[0] - 1)});
  }
  const ArenaAnswer answer = plan(problem);
  EXPECT_EQ(answer.lower_bound_bytes, 10);
  EXPECT_EQ(answer.total_bytes, fewest_bytes(arena));
  EXPECT_EQ(answer.total_bytes, 11);
  EXPECT_TRUE(answer.optimal);
  EXPECT_FALSE(plan_arena(problem, std::vector<std::string>{"size"}).optimal);
}

TEST(Arena, AnswersAreRepeatable) {
  const RandomArena arena = random_arena(7, 3, 200, 1000);
  const ArenaAnswer first = plan(arena.problem), second = plan(arena.problem);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.strategy, second.strategy);
}

TEST(Arena, AnEmptyProblemTakesNoBytes) {
  const ArenaAnswer answer = plan(ArenaProblem{64, 1, {}});
  EXPECT_EQ(answer.total_bytes, 0);
  EXPECT_EQ(answer.lower_bound_bytes, 0);
}

void expect_refused(const ArenaProblem& problem, const std::vector<std::string>& strategies, const std::string& says) {
  try {
    plan_arena(problem, strategies);
    ADD_FAILURE() << "not refused: " << says;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Arena, RefusesWhatMakesNoSense) {
  const ArenaArray good = interval("x", 8, 0, 1);
  const auto all = arena_strategies();
  expect_refused({48, 1, {good}}, all, "alignment in bytes: found 48, allowed a power of two");
  expect_refused({64, 5, {good}}, all, "streams: found 5, allowed 1 to 4");
  expect_refused({64, 1, {interval("x", 0, 0, 1)}}, all, "array 'x': bytes: found 0");
  expect_refused({64, 1, {interval("x", int64_t{1} << 62, 0, 1), interval("y", int64_t{1} << 62, 0, 1)}}, all,
                 "array 'y': bytes: found 4611686018427387904");
  expect_refused({64, 1, {interval("x", 8, 3, 2)}}, all, "array 'x': life on stream 0: found [3, 2)");
  expect_refused({64, 1, {interval("x", 8, 2, 2)}}, all, "array 'x': life: found no launch, allowed 1 or more");
  ArenaArray astray = good;
  astray.life.end[2] = 1;
  expect_refused({64, 2, {astray}}, all, "array 'x': life on stream 2: found [0, 1)");
  expect_refused({64, 1, {good}}, {"size", "luck"}, "strategy: found 'luck', allowed size, area");
  expect_refused({64, 1, {good}}, {}, "strategies: found none");
}

}  // namespace
}  // namespace lane::test
