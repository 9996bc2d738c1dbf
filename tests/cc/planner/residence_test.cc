// The order in which matrices move: the least decode time lost per byte freed first.
#include "cpp/planner/residence.h"

#include <gtest/gtest.h>

#include <limits>

#include "cpp/runtime/error.h"

namespace lane::test {
namespace {

TEST(OrderToMove, WhatCostsLeastPerByteFirst) {
  const std::vector<MovableMatrix> matrices = {
      {"dense", 400, 400}, {"experts", 1600, 100}, {"unread", 300, 0}, {"small dense", 100, 100}, {"output", 800, 800},
  };
  EXPECT_EQ(order_to_move(matrices), (std::vector<uint32_t>{2, 1, 4, 0, 3}));
}

TEST(OrderToMove, EqualsStayAsGivenAndWhatFreesNothingIsLast) {
  const std::vector<MovableMatrix> matrices = {{"empty", 0, 0}, {"a", 8, 4}, {"b", 8, 4}, {"c", 16, 8}};
  EXPECT_EQ(order_to_move(matrices), (std::vector<uint32_t>{3, 1, 2, 0}));
}

TEST(OrderToMove, RefusesWhatMakesNoSense) {
  EXPECT_THROW(order_to_move({{"m", -1, 0}}), Error);
  EXPECT_THROW(order_to_move({{"m", 1, -1}}), Error);
  EXPECT_THROW(order_to_move({{"m", 1, std::numeric_limits<double>::quiet_NaN()}}), Error);
}

}  // namespace
}  // namespace lane::test
