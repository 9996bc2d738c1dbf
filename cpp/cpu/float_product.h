// Products with a float format's rows as they lie (and, under `precise`, with any format's rows decoded to f32):
// activation rows by up to kFloatCols matrix rows.
//
// A dot is Σ x·w in eight lanes, value i in lane i mod 8, in order, each a fused multiply-add in f32 or f64 (where the
// product is exact); lanes folded at the end and, from f64, rounded once.
//
// Weights become f32 in a register, on the way to their multiply-adds: units that those leave idle do that, and a
// matrix of 16-bit values is half the bytes in every cache that one of f32 would be. A single row's dots wait for
// memory alone.
#pragma once

#include <cstddef>
#include <type_traits>

#include "cpp/cpu/kernels.h"
#include "cpp/cpu/quants/floats.h"

namespace lane::cpu::LANE_ISA {

inline constexpr int kCols = kFloatCols;
static_assert(kCols == 4, "a tile's sums of one row are folded four at a time");

// Activation rows of a tile: with kCols sums each, their values and a weight, what sixteen vector registers hold.
inline constexpr int kFloatRows = 3;

template <class Lanes>
LANE_INLINE Lanes to_lanes(F32 values) {
  if constexpr (std::is_same_v<Lanes, F64>) {
    return to_f64(values);
  } else {
    return values;
  }
}

LANE_INLINE void fold_sums(const F32 (&sums)[kCols], float* out) {
  store_4(out, half_sums(fold_halves(sums[0], sums[1], sums[2], sums[3]), splat(0.0f)));
}
LANE_INLINE void fold_sums(const F64 (&sums)[kCols], float* out) {
  for (int c = 0; c < kCols; ++c) out[c] = static_cast<float>(fold(sums[c]));
}

// The first `count` values, fewer than eight; zeros beyond, whose bytes are zero in every float format.
template <class F>
LANE_INLINE F32 load_first(const uint8_t* p, int64_t count) {
  uint8_t bytes[kLanes * F::kBlockBytes] = {};
  __builtin_memcpy(bytes, p, static_cast<std::size_t>(count * F::kBlockBytes));
  return F::load(bytes);
}

template <class F, class Lanes, int kRows>
LANE_INLINE void multiply_tile(const FloatProduct& p, const uint8_t* const (&w)[kCols], int64_t row) {
  const float* x = p.x + row * p.k;
  Lanes lanes[kRows][kCols];
  for (auto& sums : lanes) {
    for (auto& sum : sums) sum = to_lanes<Lanes>(splat(0.0f));
  }
  const auto step = [&](auto values_at, auto weights_at) __attribute__((always_inline)) {
    Lanes values[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) values[r] = to_lanes<Lanes>(values_at(x + r * p.k));
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) {
      const Lanes weights = to_lanes<Lanes>(weights_at(w[c]));
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) lanes[r][c] = fma(values[r], weights, lanes[r][c]);
    }
  };
  const int64_t whole = p.k / kLanes * kLanes, rest = p.k - whole;
  for (int64_t i = 0; i < whole; i += kLanes) {
    step([i](const float* row) { return load(row + i); },
         [i](const uint8_t* row) { return F::load(row + i * F::kBlockBytes); });
  }
  if (rest > 0) {
    step([&](const float* row) { return load_part(row + whole, rest); },
         [&](const uint8_t* row) { return load_first<F>(row + whole * F::kBlockBytes, rest); });
  }
  for (int r = 0; r < kRows; ++r) {
    float sums[kCols];
    fold_sums(lanes[r], sums);
    float* y = p.y + (row + r) * p.pitch;
    for (int64_t c = 0; c < p.cols; ++c) y[c * p.step] = sums[c];
  }
}

// Absent columns repeat the last: their sums are not stored.
template <class F>
void multiply_float(const FloatProduct& p) {
  const uint8_t* w[kCols];
  for (int64_t c = 0; c < kCols; ++c) w[c] = p.w[c < p.cols ? c : p.cols - 1];
  if (p.precise) {
    for (int64_t r = 0; r < p.rows; ++r) multiply_tile<F, F64, 1>(p, w, r);
    return;
  }
  int64_t r = 0;
  for (; r + kFloatRows <= p.rows; r += kFloatRows) multiply_tile<F, F32, kFloatRows>(p, w, r);
  if (r + 2 == p.rows) {
    multiply_tile<F, F32, 2>(p, w, r);
  } else if (r + 1 == p.rows) {
    multiply_tile<F, F32, 1>(p, w, r);
  }
}

}  // namespace lane::cpu::LANE_ISA
