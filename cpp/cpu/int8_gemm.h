// The int8 product of a tile of activation rows and a panel of matrix rows, in the order of sums of int8_gemv.h.
//
// A panel holds kPanelCols matrix rows unpacked, chunk by chunk: for every four values, four bytes of each column; then
// each unit's scales of every column, and minima. A vector's lanes are columns, so that a unit's dot ends in its lane
// with no folding; the eight lanes that a row's units take turns in are eight vectors in memory. A tile holds up to
// kTileStreams rows of words chunk by chunk, with the scales and sums of each unit.
#pragma once

#include "cpp/cpu/int8_gemv.h"

namespace lane::cpu::LANE_ISA {

inline constexpr int kVectors = kPanelCols / kLanes;  // of a panel's columns
inline constexpr int kStreams = kTileStreams;

// What of a format its panels' products depend on; formats alike in these share the code.
template <int kUnit_, int kMaxWord_, bool kSigned_, bool kZero_, bool kMinimum_>
struct PanelTraits {
  static constexpr int kUnit = kUnit_, kUnits = kChunk / kUnit;
  static constexpr bool kSigned = kSigned_, kZero = kZero_, kMinimum = kMinimum_;
  static constexpr int kSteps = kUnit / 4;  // of four values
  static constexpr int kUnwidened = sums_limit(kMaxWord_, kSteps);
  static constexpr int64_t kWordBytes = kChunk * kPanelCols;
  static constexpr int64_t kChunkBytes = kWordBytes + kUnits * kPanelCols * 4 * (1 + kMinimum);
};

// The greatest word, rounded up to one of few: what decides how often sums are widened.
constexpr int word_class(int max_word) { return max_word <= 16 ? 16 : max_word <= 32 ? 32 : max_word <= 64 ? 64 : 127; }

template <class F>
using TraitsOf = PanelTraits<F::kUnit, Canonical<F>::kSignedDot || kAnyWord ? 127 : word_class(F::kMaxWord),
                             Canonical<F>::kSignedDot, Canonical<F>::kZero != 0, F::kMinimum>;

// One chunk of a tile.
struct TileChunk {
  int8_t words[kStreams][kChunk];
  float scales[kStreams];
  std::int32_t zeros[2][kStreams];
  float sums[2][kStreams];
};

inline int64_t tile_bytes(int64_t k) { return k / kChunk * static_cast<int64_t>(sizeof(TileChunk)); }

// `rows` rows, and with second words the second words' rows after them. What a tile has no row for is zero.
// `row_memory` holds a prepared row.
template <class F>
void prepare_tile(QuantRows x, int64_t rows, int64_t k, void* tile, void* row_memory) {
  auto* chunks = static_cast<TileChunk*>(tile);
  const int64_t count = k / kChunk;
  const PreparedRow<F> prepared(row_memory, k);
  __builtin_memset(tile, 0, static_cast<std::size_t>(tile_bytes(k)));
  for (int64_t r = 0; r < rows; ++r) {
    const QuantRows row = {x.words + r * k, x.second == nullptr ? nullptr : x.second + r * k, x.scales + r * count};
    prepare_row<F>(row, k, row_memory);
    for (int64_t c = 0; c < count; ++c) {
      TileChunk& out = chunks[c];
      store(out.words[r], load_bytes(row.words + c * kChunk));
      if (row.second != nullptr) store(out.words[rows + r], load_bytes(row.second + c * kChunk));
      out.scales[r] = row.scales[c];
      for (int u = 0; u < Canonical<F>::kUnits; ++u) {
        const int64_t at = unit_index<F>(c, u);
        if constexpr (Canonical<F>::kZero != 0) {
          out.zeros[u][r] = prepared.zeros[at];
          if (row.second != nullptr) out.zeros[u][rows + r] = prepared.second_zeros[at];
        }
        if constexpr (F::kMinimum) out.sums[u][r] = prepared.sums[at];
      }
    }
  }
}

template <class F>
int64_t panel_bytes(int64_t k) {
  return k / kChunk * TraitsOf<F>::kChunkBytes;
}

LANE_INLINE void store_transposed(const F32 (&rows)[kLanes], uint8_t* out, int64_t stride_bytes, int count) {
  I32 columns[kLanes];
  for (int i = 0; i < kLanes; ++i) columns[i] = bits(rows[i]);
  transpose(columns);
  for (int i = 0; i < count; ++i) store(reinterpret_cast<std::int32_t*>(out + i * stride_bytes), columns[i]);
}

// The words of one chunk of eight rows: in each vector, the next four bytes of every row.
template <class F>
LANE_INLINE void unpack_words(const uint8_t* const* rows, int64_t chunk, uint8_t* out) {
  I32 w[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; ++i) {
    w[i] = rows[i] == nullptr ? splat(0) : from_bytes(Canonical<F>::words(rows[i], chunk));
  }
  transpose(w);
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; ++i) store(reinterpret_cast<std::int32_t*>(out + i * kPanelCols * 4), w[i]);
}

// Scales and minima of up to eight chunks of eight rows, `out` being the first chunk's place for them.
template <class F>
LANE_INLINE void unpack_factors(const uint8_t* const* rows, int64_t chunk, int count, uint8_t* out) {
  using T = TraitsOf<F>;
  F32 scale[T::kUnits][kLanes], minimum[T::kUnits][kLanes];
  for (int i = 0; i < kLanes; ++i) {
    Factors<F::kUnit> f;
    if (rows[i] != nullptr) F::factors(rows[i], chunk, count, f);
    for (int u = 0; u < T::kUnits; ++u) {
      scale[u][i] = rows[i] == nullptr ? splat(0.0f) : f.scale[u];
      if constexpr (F::kMinimum) minimum[u][i] = rows[i] == nullptr ? splat(0.0f) : f.minimum[u];
    }
  }
  constexpr int64_t kUnitBytes = kPanelCols * 4;
  for (int u = 0; u < T::kUnits; ++u) {
    // Where a unit is a chunk, vector entry c is chunk c; else vector u has chunk 4u + i's halves at i and i + 4.
    if constexpr (T::kUnits == 1) {
      store_transposed(scale[u], out, T::kChunkBytes, count);
      if constexpr (F::kMinimum) store_transposed(minimum[u], out + kUnitBytes, T::kChunkBytes, count);
    } else {
      float entries[kLanes][kLanes];
      for (int kind = 0; kind <= F::kMinimum; ++kind) {
        store_transposed(kind == 0 ? scale[u] : minimum[u], reinterpret_cast<uint8_t*>(entries), sizeof entries[0],
                         kLanes);
        for (int i = 0; i < kLanes; ++i) {
          const int c = 4 * u + i % 4;
          if (c >= count) continue;
          uint8_t* place = out + c * T::kChunkBytes + (kind * T::kUnits + i / 4) * kUnitBytes;
          store(reinterpret_cast<float*>(place), load(entries[i]));
        }
      }
    }
  }
}

template <class F>
void unpack(const uint8_t* const* rows, int64_t k, void* panel) {
  using T = TraitsOf<F>;
  const int64_t chunks = k / kChunk;
  for (int v = 0; v < kVectors; ++v) {
    auto* out = static_cast<uint8_t*>(panel) + v * kLanes * 4;
    for (int64_t c = 0; c < chunks; c += kGroup) {
      const int count = chunks - c < kGroup ? static_cast<int>(chunks - c) : kGroup;
      for (int i = 0; i < count; ++i) unpack_words<F>(rows + v * kLanes, c + i, out + (c + i) * T::kChunkBytes);
      unpack_factors<F>(rows + v * kLanes, c, count, out + c * T::kChunkBytes + T::kWordBytes);
    }
  }
}

// The loops over steps stay rolled: unrolled, the compiler reorders the sums until none of them fits a register.

// One unit's dots of every stream with every column, where many products can be added before they are widened.
template <class T, int kCount>
LANE_INLINE void sum_products(const uint8_t* panel, const int8_t (*x)[kChunk], I32 (&d)[kCount][kVectors]) {
#pragma GCC unroll 1
  for (int step = 0; step < T::kSteps; step += T::kUnwidened) {
    Sums sums[kCount][kVectors];
#pragma GCC unroll 8
    for (int s = 0; s < kCount; ++s) {
      for (int v = 0; v < kVectors; ++v) sums[s][v] = no_sums();
    }
#pragma GCC unroll 1
    for (int i = step; i < step + T::kUnwidened; ++i) {
      Bytes w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) w[v] = load_bytes(panel + (i * kPanelCols + v * kLanes) * 4);
#pragma GCC unroll 8
      for (int s = 0; s < kCount; ++s) {
        const Bytes four = splat_4(x[s] + 4 * i);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[s][v] = add_products(sums[s][v], w[v], four);
      }
    }
#pragma GCC unroll 8
    for (int s = 0; s < kCount; ++s) {
      for (int v = 0; v < kVectors; ++v) d[s][v] = d[s][v] + widen(sums[s][v]);
    }
  }
}

// The same where at most two can, or words are signed.
template <class T, int kCount>
LANE_INLINE void widen_products(const uint8_t* panel, const int8_t (*x)[kChunk], I32 (&d)[kCount][kVectors]) {
  constexpr int kTogether = T::kSigned ? 1 : T::kUnwidened;
#pragma GCC unroll 1
  for (int step = 0; step < T::kSteps; step += kTogether) {
    Bytes w[kTogether][kVectors];
#pragma GCC unroll 2
    for (int i = 0; i < kTogether; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) w[i][v] = load_bytes(panel + ((step + i) * kPanelCols + v * kLanes) * 4);
    }
#pragma GCC unroll 8
    for (int s = 0; s < kCount; ++s) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (T::kSigned) {
          d[s][v] = d[s][v] + dot4_signed(magnitude(w[0][v]), w[0][v], splat_4(x[s] + 4 * step));
        } else {
          Sums sums = no_sums();
          for (int i = 0; i < kTogether; ++i) sums = add_products(sums, w[i][v], splat_4(x[s] + 4 * (step + i)));
          d[s][v] = d[s][v] + widen(sums);
        }
      }
    }
  }
}

template <class T, int kCount>
LANE_INLINE void unit_products(const uint8_t* panel, const int8_t (*x)[kChunk], I32 (&d)[kCount][kVectors]) {
#pragma GCC unroll 8
  for (int s = 0; s < kCount; ++s) {
    for (int v = 0; v < kVectors; ++v) d[s][v] = splat(0);
  }
  if constexpr (T::kSigned || T::kUnwidened <= 2) {
    widen_products<T, kCount>(panel, x, d);
  } else {
    sum_products<T, kCount>(panel, x, d);
  }
}

// One unit of a chunk added to its lane: D · (scale·xscale) + minimum · (xscale·Σx), as in add_group.
template <class T, int kRows, bool kTwoWords>
LANE_INLINE void add_unit(const uint8_t* panel, const TileChunk& tile, int u, F32 (&lane)[kRows][kVectors]) {
  constexpr int kCount = kRows * (1 + kTwoWords);
  I32 d[kCount][kVectors];
  const auto* x = reinterpret_cast<const int8_t (*)[kChunk]>(&tile.words[0][u * T::kUnit]);
  unit_products<T, kCount>(panel + u * T::kSteps * kPanelCols * 4, x, d);
  const auto* factors = reinterpret_cast<const float*>(panel + T::kWordBytes) + u * kPanelCols;
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const F32 scale = load(factors + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if constexpr (T::kZero) d[r][v] = d[r][v] - splat(tile.zeros[u][r]);
      F32 dot = to_f32(d[r][v]);
      if constexpr (kTwoWords) {
        I32 second = d[kRows + r][v];
        if constexpr (T::kZero) second = second - splat(tile.zeros[u][kRows + r]);
        dot = fma(to_f32(second), splat(kSecondWordStep), dot);
      }
      lane[r][v] = fma(dot, scale * splat(tile.scales[r]), lane[r][v]);
      if constexpr (T::kMinimum) {
        const F32 minimum = load(factors + T::kUnits * kPanelCols + v * kLanes);
        lane[r][v] = fma(minimum, splat(tile.sums[u][r]), lane[r][v]);
      }
    }
  }
}

template <class T, int kRows, bool kTwoWords>
void multiply_tile(const uint8_t* panel, const TileChunk* tile, int64_t chunks, float* y, int64_t pitch, int64_t cols) {
  F32 lanes[kLanes][kRows][kVectors];
  for (auto& lane : lanes) {
    for (auto& row : lane) {
      for (auto& vector : row) vector = splat(0.0f);
    }
  }
  for (int64_t c = 0; c < chunks; ++c, panel += T::kChunkBytes) {
    for (int u = 0; u < T::kUnits; ++u) {
      const int64_t lane = T::kUnits == 1 ? c % 8 : c % 4 + 4 * u;
      add_unit<T, kRows, kTwoWords>(panel, tile[c], u, lanes[lane]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const auto l = [&](int i) { return lanes[i][r][v]; };
      const F32 total = ((l(0) + l(2)) + (l(1) + l(3))) + ((l(4) + l(6)) + (l(5) + l(7)));
      const int64_t here = cols - v * kLanes;
      float* out = y + r * pitch + v * kLanes;
      if (here >= kLanes) {
        store(out, total);
      } else if (here > 0) {
        store_part(out, total, here);
      }
    }
  }
}

template <class T>
void multiply_panel(const void* panel, const void* tile, int64_t rows, int64_t k, bool two_words, float* y,
                    int64_t pitch, int64_t cols) {
  const auto* p = static_cast<const uint8_t*>(panel);
  const auto* t = static_cast<const TileChunk*>(tile);
  const int64_t chunks = k / kChunk;
  if (two_words) {
    if (rows == 2) return multiply_tile<T, 2, true>(p, t, chunks, y, pitch, cols);
    return multiply_tile<T, 1, true>(p, t, chunks, y, pitch, cols);
  }
  switch (rows) {
    case 1:
      return multiply_tile<T, 1, false>(p, t, chunks, y, pitch, cols);
    case 2:
      return multiply_tile<T, 2, false>(p, t, chunks, y, pitch, cols);
    case 3:
      return multiply_tile<T, 3, false>(p, t, chunks, y, pitch, cols);
    default:
      return multiply_tile<T, 4, false>(p, t, chunks, y, pitch, cols);
  }
}

}  // namespace lane::cpu::LANE_ISA
