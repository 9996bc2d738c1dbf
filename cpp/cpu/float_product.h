// Products with f32 weights (float formats, and under `precise` any format decoded): activation rows by up to
// kFloatCols matrix rows.
//
// A dot is Σ x·w in eight lanes, value i in lane i mod 8, in order, each a fused multiply-add in f32 or f64 (where the
// product is exact); lanes folded at the end and, from f64, rounded once.
#pragma once

#include "cpp/cpu/kernels.h"
#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

inline constexpr int kCols = kFloatCols;
static_assert(kCols == 4, "a tile's sums of one row are stored four at a time");

template <int kRows>
LANE_INLINE void multiply_f32_tile(const float* const* w, const float* x, int64_t k, float* y, int64_t pitch,
                                   int64_t cols) {
  F32 lanes[kRows][kCols];
  for (auto& row : lanes) {
    for (auto& sum : row) sum = splat(0.0f);
  }
  const int64_t whole = k / kLanes * kLanes;
  const auto step = [&](int64_t i, auto load_at) __attribute__((always_inline)) {
    F32 value[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) value[r] = load_at(x + r * k + i);
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) {
      const F32 weight = load_at(w[c] + i);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) lanes[r][c] = fma(value[r], weight, lanes[r][c]);
    }
  };
  for (int64_t i = 0; i < whole; i += kLanes) step(i, [](const float* p) { return load(p); });
  if (whole < k) step(whole, [&](const float* p) { return load_part(p, k - whole); });
  for (int r = 0; r < kRows; ++r) {
    const F32 halves = fold_halves(lanes[r][0], lanes[r][1], lanes[r][2], lanes[r][3]);
    const F32 sums = half_sums(halves, splat(0.0f));
    if (cols == kCols) {
      store_4(y + r * pitch, sums);
    } else {
      store_part(y + r * pitch, sums, cols);
    }
  }
}

inline void multiply_f64_row(const float* const* w, const float* x, int64_t k, float* y, int64_t cols) {
  F64 lanes[kCols];
  for (auto& sum : lanes) sum = zero_f64();
  const int64_t whole = k / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    const F64 value = to_f64(load(x + i));
    for (int c = 0; c < kCols; ++c) lanes[c] = fma(value, to_f64(load(w[c] + i)), lanes[c]);
  }
  if (whole < k) {
    const F64 value = to_f64(load_part(x + whole, k - whole));
    for (int c = 0; c < kCols; ++c) lanes[c] = fma(value, to_f64(load_part(w[c] + whole, k - whole)), lanes[c]);
  }
  for (int64_t c = 0; c < cols; ++c) y[c] = static_cast<float>(fold(lanes[c]));
}

// Absent columns repeat the last: their sums are not stored.
inline void multiply_float(const float* const* w, int64_t cols, const float* x, int64_t rows, int64_t k, bool precise,
                           float* y, int64_t pitch) {
  const float* all[kCols];
  for (int64_t c = 0; c < kCols; ++c) all[c] = w[c < cols ? c : cols - 1];
  if (precise) {
    for (int64_t r = 0; r < rows; ++r) multiply_f64_row(all, x + r * k, k, y + r * pitch, cols);
    return;
  }
  int64_t r = 0;
  for (; r + 3 <= rows; r += 3) multiply_f32_tile<3>(all, x + r * k, k, y + r * pitch, pitch, cols);
  for (; r < rows; ++r) multiply_f32_tile<1>(all, x + r * k, k, y + r * pitch, pitch, cols);
}

}  // namespace lane::cpu::LANE_ISA
