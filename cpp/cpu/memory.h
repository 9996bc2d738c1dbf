// Where a launch's operands lie: an allocation and a byte offset in it, resolved when a form runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cpp/cpu/kernels.h"

namespace lane::cpu {

// The allocations, by number. Arrays that the caller binds for a run follow.
enum Base : int { kArenaBase, kPoolBase, kStateBase, kFirstExternalBase };

struct Operand {
  int base = -1;  // -1: the launch has no such operand
  std::int64_t offset_bytes = 0;

  bool exists() const { return base >= 0; }
};

// The address of every base during a run.
using Bases = std::vector<std::byte*>;

template <class T>
T* resolve(const Bases& bases, Operand operand) {
  if (!operand.exists()) return nullptr;
  return reinterpret_cast<T*>(bases[static_cast<std::size_t>(operand.base)] + operand.offset_bytes);
}

// Pages of the system's, zero until they are written; lane::Error if there are not enough.
class Allocation {
 public:
  Allocation() = default;
  explicit Allocation(std::int64_t bytes);
  ~Allocation();
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;

  std::byte* get() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  void fill(int byte) { std::memset(data_, byte, static_cast<std::size_t>(bytes_)); }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// A matrix in its checkpoint format, in place: runs of whole rows.
struct Matrix {
  struct Run {
    const std::uint8_t* data;
    std::int64_t first, rows;
  };

  const FormatKernels* format;
  std::int64_t rows, cols, row_bytes;
  std::vector<Run> runs;

  // Row r, and how many rows follow it end to end, itself included.
  const std::uint8_t* row(std::int64_t r, std::int64_t* adjacent = nullptr) const {
    for (const Run& run : runs) {
      if (r < run.first + run.rows) {
        if (adjacent != nullptr) *adjacent = run.first + run.rows - r;
        return run.data + (r - run.first) * row_bytes;
      }
    }
    return nullptr;
  }
};

// A matrix in ggml's type `type_id` that has no rows yet; lane::Error for a type or a width that there is not.
Matrix matrix_of(const Kernels& kernels, std::int64_t type_id, std::int64_t rows, std::int64_t cols);

// The numerics of this ordinal; lane::Error if there is none.
spec::Numerics numerics_at(std::int64_t ordinal);

}  // namespace lane::cpu
