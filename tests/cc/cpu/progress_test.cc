// Progress: over many rounds each task is had by one thread, what tasks wrote is visible past the wait for their step,
// and a thread that comes late to a round finds nothing to do.
#include "cpp/cpu/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace lane::cpu {
namespace {

bool stay() { return false; }

constexpr std::size_t kSteps = 5;
constexpr std::int64_t kTasks[kSteps] = {3, 1, 0, 7, 2};

void set_all(Progress& progress) {
  for (std::size_t i = 0; i < kSteps; ++i) progress.set_tasks(i, kTasks[i]);
}

// Plain counts, one a task: two threads on one task, or a step begun before the last is done, give other counts, and a
// data race to the thread sanitizer.
TEST(Progress, EachTaskOnceAStepAfterTheOther) {
  constexpr std::uint32_t kRounds = 2000;
  for (const int threads : {2, 3}) {
    Progress progress(kSteps);
    std::vector<std::vector<std::uint32_t>> done(kSteps);
    for (std::size_t i = 0; i < kSteps; ++i) done[i].resize(static_cast<std::size_t>(kTasks[i]));
    const auto walk = [&](std::uint32_t round, int thread) {
      for (std::size_t i = 0; i < kSteps; ++i) {
        if (i > 0) progress.await_step(i - 1, round, stay);
        std::int64_t task = 0;
        while (progress.claim(i, round, task)) {
          for (const std::uint32_t count : done[i == 0 ? kSteps - 1 : i - 1])
            EXPECT_EQ(count, i == 0 ? round - 1 : round);
          EXPECT_EQ(++done[i][static_cast<std::size_t>(task)], round);
          progress.finish(i);
        }
      }
      if (thread == 0) progress.await_step(kSteps - 1, round, stay);
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread) {
      others.emplace_back([&, thread] {
        for (std::uint32_t round = 1; progress.await_round(round, stay); ++round) walk(round, thread);
      });
    }
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      ASSERT_EQ(progress.next_round(), round);
      set_all(progress);
      progress.begin_round();
      walk(round, 0);
    }
    progress.end_rounds();
    for (std::thread& other : others) other.join();
    for (const auto& counts : done) {
      for (const std::uint32_t count : counts) EXPECT_EQ(count, kRounds);
    }
  }
}

TEST(Progress, ALateThreadOnlyLeaves) {
  Progress progress(1);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    progress.set_tasks(0, 2);
    progress.begin_round();
    std::int64_t task = -1;
    for (std::uint32_t over = 0; over < round; ++over) {
      EXPECT_TRUE(progress.await_round(over, stay));
      EXPECT_FALSE(progress.claim(0, over, task));
      progress.await_step(0, over, stay);
    }
    ASSERT_TRUE(progress.claim(0, round, task));
    EXPECT_EQ(task, 1);
    ASSERT_TRUE(progress.claim(0, round, task));
    EXPECT_EQ(task, 0);
    EXPECT_FALSE(progress.claim(0, round, task));
    progress.finish(0);
    progress.finish(0);
    progress.await_step(0, round, stay);
  }
  progress.end_rounds();
  EXPECT_FALSE(progress.await_round(4, stay));
}

// Waits that outlast the spin and the yields end too.
TEST(Progress, WakesWhoSleeps) {
  Progress progress(1);
  std::thread waiting([&] {
    EXPECT_TRUE(progress.await_round(1, stay));
    progress.await_step(0, 1, stay);
    EXPECT_FALSE(progress.await_round(2, stay));
  });
  const auto a_while = std::chrono::milliseconds(20);
  std::this_thread::sleep_for(a_while);
  progress.set_tasks(0, 1);
  progress.begin_round();
  std::int64_t task = 0;
  while (progress.claim(0, 1, task)) {
    std::this_thread::sleep_for(a_while);
    progress.finish(0);
  }
  std::this_thread::sleep_for(a_while);
  progress.end_rounds();
  waiting.join();
}

}  // namespace
}  // namespace lane::cpu
