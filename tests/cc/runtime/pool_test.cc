// Carving: parts one after the other at the alignment, and an account that must come out to the byte.
#include "cpp/runtime/pool.h"

#include <gtest/gtest.h>

#include "cpp/runtime/error.h"

namespace lane::test {
namespace {

TEST(Pool, PartsFollowOneAnother) {
  PoolCarver carver(64);
  EXPECT_EQ(carver.take(1), 0);
  EXPECT_EQ(carver.take(64), 64);
  EXPECT_EQ(carver.take(0), 128);
  EXPECT_EQ(carver.take(65), 128);
  EXPECT_EQ(carver.carved_bytes(), 256);
  carver.finish(256);
}

TEST(Pool, WhatIsNotAsPlannedIsRefused) {
  PoolCarver carver(64);
  carver.take(100);
  for (const std::int64_t planned : {100, 127, 129, 0}) {
    try {
      carver.finish(planned);
      ADD_FAILURE() << "not refused: " << planned;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kFault);
      EXPECT_EQ(error.what(), "pool: found 128 bytes carved, allowed the " + std::to_string(planned) + " planned");
    }
  }
}

TEST(Pool, RefusesWhatMakesNoSense) {
  for (const std::int64_t alignment : {0, -64, 48}) EXPECT_THROW(PoolCarver{alignment}, Error);
  PoolCarver carver(256);
  EXPECT_THROW(carver.take(-1), Error);
  EXPECT_THROW(carver.take(INT64_MAX), Error);
  EXPECT_EQ(carver.take(INT64_MAX - 255), 0);
  EXPECT_THROW(carver.take(1), Error);
  EXPECT_EQ(carver.carved_bytes(), INT64_MAX - 255);
}

}  // namespace
}  // namespace lane::test
