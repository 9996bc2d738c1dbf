// Residence: the order of moving, the choice at the start over every budget, and refusals with their numbers.
#include "cpp/planner/residence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cpp/runtime/error.h"
#include "tests/cc/planner/random_order.h"

namespace lane::test {
namespace {

const std::vector<MovableMatrix> kMatrices = {
    {"dense", 400, 400}, {"experts", 1600, 100}, {"unread", 300, 0}, {"small dense", 100, 100}, {"output", 800, 800},
};

TEST(Residence, MovesWhatCostsLeastPerByteFirst) {
  EXPECT_EQ(order_to_move(kMatrices), (std::vector<uint32_t>{2, 1, 4, 0, 3}));
}

TEST(Residence, KeepsAllThatFits) {
  const std::vector<uint32_t> order = order_to_move(kMatrices);
  const Residence all = choose_residence(kMatrices, order, {100, 50, 3350});
  EXPECT_TRUE(all.moved.empty());
  EXPECT_EQ(all.device_bytes, 3350);
  EXPECT_EQ(all.host_bytes, 0);
  EXPECT_EQ(choose_residence(kMatrices, order, {100, 50, 3349}).moved, std::vector<uint32_t>{2});
  EXPECT_EQ(choose_residence(kMatrices, order, {100, 50, 150}).moved.size(), kMatrices.size());
}

TEST(Residence, TakesBackWhatStillFits) {
  // Of 3200 bytes 2900 must fit: `unread` frees 300, one byte too few, so `experts` goes too, and `unread` fits again.
  const Residence residence = choose_residence(kMatrices, order_to_move(kMatrices), {0, 0, 2899});
  EXPECT_EQ(residence.moved, std::vector<uint32_t>{1});
  EXPECT_EQ(residence.host_bytes, 1600);
  EXPECT_EQ(residence.device_bytes, 1600);
}

TEST(Residence, HoldsForEveryBudget) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<MovableMatrix> matrices;
    int64_t total = 0;
    for (int i = 0; i < 12; ++i) {
      const int64_t bytes = random.between(1, 40);
      matrices.push_back({"m", bytes, static_cast<double>(random.below(bytes + 1))});
      total += bytes;
    }
    const std::vector<uint32_t> order = order_to_move(matrices);
    for (int64_t budget = 7 + 5; budget <= total + 20; ++budget) {
      const Residence found = choose_residence(matrices, order, {7, 5, budget});
      EXPECT_LE(found.device_bytes, budget);
      EXPECT_EQ(found.device_bytes + found.host_bytes, total + 12);
      EXPECT_EQ(found.moved.empty(), budget >= total + 12);
      // Nothing that moved would still fit.
      for (const uint32_t i : found.moved) EXPECT_GT(found.device_bytes + matrices[i].bytes, budget);
    }
  }
}

TEST(Residence, RefusesWithTheNumbers) {
  try {
    choose_residence(kMatrices, order_to_move(kMatrices), {100, 50, 149});
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kCapacity);
    EXPECT_STREQ(error.what(), "residence: an arena of 100 bytes and 50 bytes that cannot move, allowed 149 together");
  }
  EXPECT_THROW(choose_residence(kMatrices, {0, 1, 2, 3}, {}), Error);
  EXPECT_THROW(choose_residence(kMatrices, {0, 1, 2, 3, 3}, {}), Error);
  EXPECT_THROW(choose_residence(kMatrices, {0, 1, 2, 3, 5}, {}), Error);
  EXPECT_THROW(choose_residence(kMatrices, order_to_move(kMatrices), {-1, 0, 10}), Error);
  EXPECT_THROW(order_to_move({{"m", -1, 0}}), Error);
  EXPECT_THROW(order_to_move({{"m", 1, -1}}), Error);
}

TEST(Residence, TheBudgetOfFreeMemoryIsNeverNegative) {
  EXPECT_EQ(budget_of_free(1000, 300), 700);
  EXPECT_EQ(budget_of_free(200, 300), 0);
}

}  // namespace
}  // namespace lane::test
