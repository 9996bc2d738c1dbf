// The pool: one allocation, all of whose parts are carved one after the other at a fixed alignment.
//
// In: each part's bytes, in order. Out: its offset. At the end the bytes carved must be exactly those planned, so that
// a plan and what a start makes of it cannot drift apart.
#pragma once

#include <cstdint>

namespace lane {

class PoolCarver {
 public:
  // Throws a usage error for an alignment that is no power of two.
  explicit PoolCarver(std::int64_t alignment_bytes);

  // The offset of the next part. Throws a usage error for negative bytes and for more than 2^63 together.
  std::int64_t take(std::int64_t bytes);

  // All that was taken, each part up to the alignment's next multiple.
  std::int64_t carved_bytes() const { return carved_bytes_; }

  // Throws a fault of lane's own unless exactly so much was carved.
  void finish(std::int64_t planned_bytes) const;

 private:
  std::int64_t alignment_bytes_;
  std::int64_t carved_bytes_ = 0;
};

}  // namespace lane
