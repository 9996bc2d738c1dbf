// The team: every thread runs the work, barriers order what lies before and after them, and nothing is left behind.
#include "cpp/cpu/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace lane::cpu {
namespace {

constexpr int kTeams[] = {1, 2, 3, 5};

TEST(Team, RunsTheWorkOnceOnEveryThread) {
  for (const int threads : kTeams) {
    Team team(threads);
    ASSERT_EQ(team.threads(), threads);
    for (int run = 0; run < 50; ++run) {
      std::vector<int> calls(static_cast<std::size_t>(threads));
      std::vector<std::thread::id> ids(calls.size());
      auto work = [&](int thread) noexcept {
        ++calls[static_cast<std::size_t>(thread)];
        ids[static_cast<std::size_t>(thread)] = std::this_thread::get_id();
      };
      team.run(work);
      EXPECT_EQ(calls, std::vector<int>(calls.size(), 1));
      EXPECT_EQ(ids[0], std::this_thread::get_id());
      for (std::size_t i = 0; i < ids.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(ids[i], ids[j]);
      }
    }
  }
}

// Plain variables, written by one thread and read by all the others after the barrier: a barrier that does not order
// them gives wrong sums, and a data race to the thread sanitizer.
TEST(Team, BarriersOrderMemory) {
  for (const int threads : kTeams) {
    Team team(threads);
    std::vector<long> values(static_cast<std::size_t>(threads)), sums(values.size());
    constexpr int kRounds = 300;
    auto work = [&](int thread) noexcept {
      const auto own = static_cast<std::size_t>(thread);
      for (int round = 0; round < kRounds; ++round) {
        values[own] = round * (thread + 1);
        team.barrier(thread);
        for (const long value : values) sums[own] += value;
        team.barrier(thread);
      }
    };
    team.run(work);
    const long each = kRounds * (kRounds - 1L) / 2 * threads * (threads + 1L) / 2;
    EXPECT_EQ(sums, std::vector<long>(sums.size(), each));
  }
}

// Threads that arrive late, having slept past the others' spinning.
TEST(Team, WaitsForTheLast) {
  Team team(3);
  std::atomic<int> done{0};
  for (int late = 0; late < 3; ++late) {
    auto work = [&](int thread) noexcept {
      if (thread == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++done;
      team.barrier(thread);
      EXPECT_EQ(done.load() % 3, 0);
      team.barrier(thread);
    };
    team.run(work);
  }
  EXPECT_EQ(done.load(), 9);
}

TEST(Team, WakesAfterALongSleep) {
  Team team(2);
  for (int run = 0; run < 3; ++run) {
    std::atomic<int> calls{0};
    auto work = [&](int) noexcept { ++calls; };
    team.run(work);
    EXPECT_EQ(calls.load(), 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

TEST(Team, ManyTeamsComeAndGo) {
  for (int i = 0; i < 100; ++i) {
    Team used(3), unused(4);
    std::atomic<int> calls{0};
    auto work = [&](int) noexcept { ++calls; };
    used.run(work);
    ASSERT_EQ(calls.load(), 3);
  }
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow threads started in a forked child
TEST(Team, StartsAnewInAForkedChild) {
  Team team(3);
  std::atomic<int> calls{0};
  auto work = [&](int) noexcept { ++calls; };
  team.run(work);
  const pid_t child = fork();
  if (child == 0) {
    team.run(work);
    _exit(calls.load() == 6 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  team.run(work);
  EXPECT_EQ(calls.load(), 6);
}
#endif

}  // namespace
}  // namespace lane::cpu
