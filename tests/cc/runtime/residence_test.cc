// Residence at the start: the choice over every budget, that none could keep more by taking back, and refusals with
// their numbers.
#include "cpp/runtime/residence.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "cpp/runtime/error.h"

namespace lane::test {
namespace {

// In the order in which they move.
const std::vector<std::int64_t> kMatrices = {300, 1600, 800, 400, 100};

TEST(Residence, KeepsAllThatFits) {
  const Residence all = choose_residence(kMatrices, {100, 50, 3350});
  EXPECT_TRUE(all.moved.empty());
  EXPECT_EQ(all.device_bytes, 3350);
  EXPECT_EQ(all.host_bytes, 0);
  EXPECT_EQ(choose_residence(kMatrices, {100, 50, 3349}).moved, std::vector<std::size_t>{0});
  EXPECT_EQ(choose_residence(kMatrices, {100, 50, 150}).moved.size(), kMatrices.size());
  EXPECT_TRUE(choose_residence({}, {100, 50, 150}).moved.empty());
}

TEST(Residence, TakesBackWhatStillFits) {
  // Of 3200 bytes 2899 may stay: the first frees 300, one byte too few, so the second goes too, and the first fits
  // again.
  const Residence residence = choose_residence(kMatrices, {0, 0, 2899});
  EXPECT_EQ(residence.moved, std::vector<std::size_t>{1});
  EXPECT_EQ(residence.host_bytes, 1600);
  EXPECT_EQ(residence.device_bytes, 1600);
}

TEST(Residence, HoldsForEveryBudget) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> matrices;
    for (int i = 0; i < 12; ++i) matrices.push_back(1 + static_cast<std::int64_t>(random() % 40));
    const std::int64_t total = std::accumulate(matrices.begin(), matrices.end(), std::int64_t{12});
    for (std::int64_t budget = 7 + 5; budget <= total + 8; ++budget) {
      const Residence found = choose_residence(matrices, {7, 5, budget});
      EXPECT_LE(found.device_bytes, budget);
      EXPECT_EQ(found.device_bytes + found.host_bytes, total);
      EXPECT_EQ(found.moved.empty(), budget >= total);
      std::int64_t moved_bytes = 0;
      for (const std::size_t i : found.moved) {
        moved_bytes += matrices[i];
        EXPECT_GT(found.device_bytes + matrices[i], budget);  // what moved would not fit any more
      }
      EXPECT_EQ(moved_bytes, found.host_bytes);
    }
  }
}

TEST(Residence, RefusesWithTheNumbers) {
  try {
    choose_residence(kMatrices, {100, 50, 149});
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kCapacity);
    EXPECT_STREQ(error.what(), "residence: an arena of 100 bytes and 50 bytes that cannot move, allowed 149 together");
  }
  EXPECT_THROW(choose_residence(kMatrices, {INT64_MAX, INT64_MAX, INT64_MAX}), Error);
  EXPECT_THROW(choose_residence(kMatrices, {-1, 0, 10}), Error);
  EXPECT_THROW(choose_residence(std::vector<std::int64_t>{-1}, {0, 0, 10}), Error);
  EXPECT_THROW(choose_residence(std::vector<std::int64_t>{INT64_MAX, 1}, {0, 0, 10}), Error);
}

TEST(Residence, TheBudgetOfFreeMemoryIsNeverNegative) {
  EXPECT_EQ(budget_of_free(1000, 300), 700);
  EXPECT_EQ(budget_of_free(200, 300), 0);
}

}  // namespace
}  // namespace lane::test
