// Placement: a thread that shares its processor with another of its team goes to a free one that it may use, and may
// afterwards use all that it could before.
#include "cpp/cpu/placement.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include <thread>
#include <vector>

namespace lane::cpu {
namespace {

#if defined(__linux__)

std::vector<int> allowed_processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

void allow(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int i : processors) CPU_SET(i, &set);
  EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

// In a thread of its own, whose processors are then no one else's matter.
TEST(Placement, OneThatMayUseOneProcessorStays) {
  std::thread([] {
    allow({allowed_processors().front()});
    Placement placement(3);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(placement.settle(i));
  }).join();
}

// The system may move the thread at any time, but not every time.
TEST(Placement, WhoMeetsAnotherMovesAndStaysFree) {
  std::thread([] {
    const std::vector<int> all = allowed_processors();
    if (all.size() < 2) return;  // nowhere to go
    bool moved = false;
    for (int i = 0; i < 100 && !moved; ++i) {
      Placement placement(2);
      allow({all.front()});
      EXPECT_FALSE(placement.settle(0));
      allow(all);
      moved = placement.settle(1);
      EXPECT_EQ(allowed_processors(), all);
    }
    EXPECT_TRUE(moved);
  }).join();
}

#else

TEST(Placement, NothingHappensWhereTheSystemHasNoSuchCalls) { EXPECT_FALSE(Placement(2).settle(0)); }

#endif

}  // namespace
}  // namespace lane::cpu
