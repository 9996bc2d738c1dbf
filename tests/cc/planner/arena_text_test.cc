// Arena problems and answers as text: what is written reads back, and what is not a problem is refused by its line.
#include "cpp/planner/arena_text.h"

#include <gtest/gtest.h>

#include "cpp/runtime/error.h"
#include "tests/cc/planner/random_order.h"

namespace lane::test {
namespace {

TEST(ArenaText, ReadsBackWhatItWrote) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ArenaProblem problem = random_arena(seed, 1 + seed % kMaxStreams, 30, 1000).problem;
    const std::string text = to_text(problem);
    const ArenaProblem read = arena_problem_of(text);
    EXPECT_EQ(to_text(read), text);
    EXPECT_EQ(plan_arena(read, arena_strategies()).offsets, plan_arena(problem, arena_strategies()).offsets);
  }
}

TEST(ArenaText, IsReadable) {
  const std::string text =
      "alignment_bytes,64\nstreams,2\narray,bytes,begin_0,end_0,begin_1,end_1\nembed plain,100,0,2,0,0\n";
  const ArenaProblem problem = arena_problem_of(text);
  EXPECT_EQ(to_text(problem), text);
  EXPECT_EQ(to_text(problem, plan_arena(problem, std::vector<std::string>{"size"})),
            "strategy,size\ntotal_bytes,128\nlower_bound_bytes,128\narray,offset_bytes\nembed plain,0\n");
}

void expect_refused(const std::string& text, const std::string& says) {
  try {
    arena_problem_of(text);
    ADD_FAILURE() << "not refused: " << says;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(ArenaText, RefusesByLine) {
  const std::string head = "alignment_bytes,64\nstreams,1\narray,bytes,begin_0,end_0\n";
  expect_refused("", "line 1: found '', allowed 'alignment_bytes,' and a number");
  expect_refused("alignment_bytes,x\n", "line 1: found 'alignment_bytes,x', allowed whole numbers");
  expect_refused("alignment_bytes,64\nstreams,9\n", "line 2: found 'streams,9', allowed 1 to 4 streams");
  expect_refused("alignment_bytes,64\nstreams,1\narray\n", "line 3: found 'array', allowed array,bytes,begin_0,end_0");
  expect_refused(head + "x,1,2\n", "line 4: found 'x,1,2', allowed array,bytes,begin_0,end_0");
  expect_refused(head + "x,1,2,3,4\n", "line 4");
  expect_refused(head + "x,1,2,99999999999999999999\n", "line 4");
  expect_refused(head + "x,1,3,2\n", "array 'x': life on stream 0: found [3, 2)");
}

TEST(ArenaText, RefusesNamesThatBreakTheTable) {
  ArenaProblem problem = random_arena(1, 1, 2, 10).problem;
  problem.arrays[0].name = "a,b";
  EXPECT_THROW(to_text(problem), Error);
}

}  // namespace
}  // namespace lane::test
