#include "cpp/runtime/pool.h"

#include <bit>
#include <limits>
#include <string>

#include "cpp/runtime/error.h"

namespace lane {

PoolCarver::PoolCarver(std::int64_t alignment_bytes) : alignment_bytes_(alignment_bytes) {
  if (alignment_bytes < 1 || !std::has_single_bit(static_cast<std::uint64_t>(alignment_bytes))) {
    throw Error(ErrorKind::kUsage,
                "pool: alignment in bytes: found " + std::to_string(alignment_bytes) + ", allowed a power of two");
  }
}

std::int64_t PoolCarver::take(std::int64_t bytes) {
  const std::int64_t left = std::numeric_limits<std::int64_t>::max() - carved_bytes_ - (alignment_bytes_ - 1);
  if (bytes < 0 || bytes > left) {
    throw Error(ErrorKind::kUsage,
                "pool: a part's bytes: found " + std::to_string(bytes) + ", allowed 0 to " + std::to_string(left));
  }
  const std::int64_t offset = carved_bytes_;
  carved_bytes_ += (bytes + (alignment_bytes_ - 1)) / alignment_bytes_ * alignment_bytes_;
  return offset;
}

void PoolCarver::finish(std::int64_t planned_bytes) const {
  if (carved_bytes_ == planned_bytes) return;
  throw Error(ErrorKind::kFault, "pool: found " + std::to_string(carved_bytes_) + " bytes carved, allowed the " +
                                     std::to_string(planned_bytes) + " planned");
}

}  // namespace lane
