// The int8 dot of one activation row with consecutive matrix rows, straight from their blocks.
//
// The order of sums, which every int8 projection keeps: with a unit's dot D = Σ (word - zero)·x an exact integer (and,
// with second words, D + D₂/254 rounded once), a row is Σ over units of D · (scale·xscale) + minimum · (xscale·Σx),
// each unit two fused multiply-adds in the lane it has (Factors), lanes folded at the end.
#pragma once

#include <type_traits>

#include "cpp/cpu/kernels.h"
#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

inline constexpr float kSecondWordStep = 1.0f / 254.0f;

// A format's words as this instruction set multiplies them: unsigned with a zero point, or signed where an unsigned
// byte would be too large for it.
template <class F>
struct Canonical {
  static constexpr bool kSignedDot = F::kSigned && !kAnyWord;
  static constexpr int kZero = F::kSigned && kAnyWord ? 128 : F::kZero;
  static constexpr int kUnits = kChunk / F::kUnit;  // of a chunk

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const Bytes w = F::words(row, chunk);
    return F::kSigned && kAnyWord ? w ^ splat_byte(0x80) : w;
  }

  // Whether a lane of Sums holds a product of each of four chunks, so that four are folded before they are widened.
  static constexpr bool kFoldsSums = !kSignedDot && sums_limit(F::kMaxWord, 4) == 4;
  using Dot = std::conditional_t<kFoldsSums, Sums, I32>;

  LANE_INLINE static Dot dot(Bytes w, Bytes x) {
    if constexpr (kFoldsSums) {
      return add_products(no_sums(), w, x);
    } else if constexpr (kSignedDot) {
      return dot4_signed(magnitude(w), w, x);
    } else {
      return dot4(w, x);
    }
  }
};

// The arrays of a prepared row, each padded to whole groups of chunks: scales, zero·Σx and xscale·Σx a unit, in the
// lane order of Factors; with second words, zero·Σx₂ too.
template <class F>
struct PreparedRow {
  static constexpr int kUnits = Canonical<F>::kUnits;
  float* scales;
  std::int32_t* zeros;
  std::int32_t* second_zeros;
  float* sums;

  static int64_t padded_chunks(int64_t k) { return (k / kChunk + kGroup - 1) / kGroup * kGroup; }
  static int64_t bytes(int64_t k) { return padded_chunks(k) * (1 + 3 * kUnits) * 4; }

  PreparedRow(void* memory, int64_t k) {
    const int64_t chunks = padded_chunks(k);
    scales = static_cast<float*>(memory);
    zeros = reinterpret_cast<std::int32_t*>(scales + chunks);
    second_zeros = zeros + chunks * kUnits;
    sums = reinterpret_cast<float*>(second_zeros + chunks * kUnits);
  }
};

// Where in the prepared arrays unit `half` of a chunk lies.
template <class F>
LANE_INLINE int64_t unit_index(int64_t chunk, int half) {
  if constexpr (F::kUnit == kChunk) return chunk;
  return chunk / 4 * 8 + chunk % 4 + 4 * half;
}

// The dots of eight chunks, of which `count` are there: folded to whole units, one vector a unit of the chunk, in the
// lane order of Factors. `dot(c)` is chunk c's, each lane four bytes'.
template <int kUnit, class Dot>
LANE_INLINE void fold_units(int count, Dot dot, I32 (&units)[kChunk / kUnit]) {
  using D = decltype(dot(0));
  D d[kGroup];
  LANE_UNROLL
  for (int c = 0; c < kGroup; ++c) d[c] = c < count ? dot(c) : D{};
  const I32 low = widen(fold_halves(d[0], d[1], d[2], d[3]));
  const I32 high = count > 4 ? widen(fold_halves(d[4], d[5], d[6], d[7])) : splat(0);
  if constexpr (kUnit == kChunk) {
    units[0] = half_sums(low, high);
  } else {
    units[0] = low;
    units[1] = high;
  }
}

// Σx of the units of `count` chunks.
template <int kUnit>
LANE_INLINE void word_sums(const int8_t* x, int count, I32 (&units)[kChunk / kUnit]) {
  fold_units<kUnit>(
      count, [&](int c) { return add_products(no_sums(), splat_byte(1), load_bytes(x + c * kChunk)); }, units);
}

// xscale of every unit of vector u of a group.
template <class F>
LANE_INLINE F32 unit_scales(const float* group_scales, int u) {
  return F::kUnit == kChunk ? load(group_scales) : load_twice(group_scales + 4 * u);
}

template <class F>
LANE_INLINE void prepare_group(const QuantRows& x, int64_t chunk, int count, PreparedRow<F>& row) {
  constexpr int kUnits = Canonical<F>::kUnits;
  for (int c = 0; c < kGroup; ++c) row.scales[chunk + c] = c < count ? x.scales[chunk + c] : 0.0f;
  if constexpr (Canonical<F>::kZero == 0 && !F::kMinimum) return;
  I32 first[kUnits], second[kUnits] = {};
  word_sums<F::kUnit>(x.words + chunk * kChunk, count, first);
  if (x.second != nullptr) word_sums<F::kUnit>(x.second + chunk * kChunk, count, second);
  for (int u = 0; u < kUnits; ++u) {
    const int64_t at = chunk * kUnits + u * kLanes;
    F32 sum = to_f32(first[u]);
    store(row.zeros + at, first[u] * splat(Canonical<F>::kZero));
    if (x.second != nullptr) {
      store(row.second_zeros + at, second[u] * splat(Canonical<F>::kZero));
      sum = fma(to_f32(second[u]), splat(kSecondWordStep), sum);
    }
    store(row.sums + at, unit_scales<F>(row.scales + chunk, u) * sum);
  }
}

template <class F>
void prepare_row(QuantRows x, int64_t k, void* memory) {
  PreparedRow<F> row(memory, k);
  const int64_t chunks = k / kChunk;
  int64_t c = 0;
  for (; c + kGroup <= chunks; c += kGroup) prepare_group<F>(x, c, kGroup, row);
  if (c < chunks) prepare_group<F>(x, c, static_cast<int>(chunks - c), row);
}

// D of the units of `count` chunks.
template <class F>
LANE_INLINE void unit_dots(const Bytes (&w)[kGroup], const int8_t* x, int count, const std::int32_t* zeros,
                           I32 (&dots)[Canonical<F>::kUnits]) {
  fold_units<F::kUnit>(count, [&](int c) { return Canonical<F>::dot(w[c], load_bytes(x + c * kChunk)); }, dots);
  if constexpr (Canonical<F>::kZero != 0) {
    for (int u = 0; u < Canonical<F>::kUnits; ++u) dots[u] = dots[u] - load(zeros + u * kLanes);
  }
}

// How far ahead of its use a matrix is asked for: past the reach of the processor's own prefetching, which stops at
// each page's end, and a small part of the first cache.
inline constexpr int64_t kAheadBytes = 2048;

template <class F>
inline constexpr int64_t kGroupBytes = kGroup * kChunk / F::kBlockElems * F::kBlockBytes;

// Asks for the bytes that will be a group's in kAheadBytes; beyond the matrix that does nothing.
template <class F>
LANE_INLINE void prefetch_group(const uint8_t* group) {
  constexpr int64_t kLineBytes = 64;
  for (int64_t i = 0; i < kGroupBytes<F>; i += kLineBytes) __builtin_prefetch(group + kAheadBytes + i);
}

// The units of `count` chunks from `chunk` on, a multiple of 8, added to a row's lanes.
template <class F, bool kTwoWords>
LANE_INLINE F32 add_group(F32 lanes, const uint8_t* row, int64_t chunk, int count, const QuantRows& x,
                          const PreparedRow<F>& prepared) {
  constexpr int kUnits = Canonical<F>::kUnits;
  const uint8_t* group = row + chunk / kGroup * kGroupBytes<F>;  // from here on a chunk's number is a constant
  prefetch_group<F>(group);
  Bytes w[kGroup];
  LANE_UNROLL
  for (int c = 0; c < kGroup; ++c) w[c] = c < count ? Canonical<F>::words(group, c) : splat_byte(0);
  Factors<F::kUnit> f;
  F::factors(group, 0, count, f);
  const int64_t at = chunk * kUnits;
  I32 dots[kUnits], second[kUnits];
  unit_dots<F>(w, x.words + chunk * kChunk, count, prepared.zeros + at, dots);
  if constexpr (kTwoWords) unit_dots<F>(w, x.second + chunk * kChunk, count, prepared.second_zeros + at, second);
  for (int u = 0; u < kUnits; ++u) {
    F32 d = to_f32(dots[u]);
    if constexpr (kTwoWords) d = fma(to_f32(second[u]), splat(kSecondWordStep), d);
    lanes = fma(d, f.scale[u] * unit_scales<F>(prepared.scales + chunk, u), lanes);
    if constexpr (F::kMinimum) lanes = fma(f.minimum[u], load(prepared.sums + at + u * kLanes), lanes);
  }
  return lanes;
}

template <class F, bool kTwoWords>
void gemv_rows(const uint8_t* w, int64_t rows, int64_t k, const QuantRows& x, const PreparedRow<F>& prepared,
               float* y) {
  const int64_t row_bytes = k / F::kBlockElems * F::kBlockBytes;
  const int64_t chunks = k / kChunk, whole = chunks / kGroup * kGroup;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* row = w + r * row_bytes;
    F32 lanes = splat(0.0f);
    for (int64_t c = 0; c < whole; c += kGroup) lanes = add_group<F, kTwoWords>(lanes, row, c, kGroup, x, prepared);
    if (F::kBlockElems < kChunk * kGroup && whole < chunks) {
      lanes = add_group<F, kTwoWords>(lanes, row, whole, static_cast<int>(chunks - whole), x, prepared);
    }
    y[r] = fold(lanes);
  }
}

template <class F>
void gemv(const uint8_t* w, int64_t rows, int64_t k, QuantRows x, const void* memory, float* y) {
  const PreparedRow<F> prepared(const_cast<void*>(memory), k);
  if (x.second == nullptr) {
    gemv_rows<F, false>(w, rows, k, x, prepared, y);
  } else {
    gemv_rows<F, true>(w, rows, k, x, prepared, y);
  }
}

}  // namespace lane::cpu::LANE_ISA
