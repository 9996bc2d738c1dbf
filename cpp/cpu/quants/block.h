// What the formats' files share: reading little-endian fields, and the factors of eight chunks at a time.
//
// A format is a struct of static members:
//   kName, kTypeId (ggml's), kBlockElems, kBlockBytes    its geometry
//   decode(block, out)                                   a block's values in f32, each operation rounded once, in the
//                                                        order that defines the format
// A format whose blocks hold small integers adds its canonical form, value = scale · (word - kZero) + minimum:
//   kUnit        values that share a scale: 32, or 16
//   kSigned      words are signed bytes (kZero is 0), else unsigned up to kMaxWord (at most 127)
//   kMinimum     there is a minimum for each unit
//   words(row, chunk)                   the words of values 32·chunk .. 32·chunk + 31 of a row
//   factors(row, chunk, count, f)       scales (and minima) of the `count` chunks, at most 8, from `chunk` on, a multiple
//                                       of 8; zero beyond. f.scale[0] has unit c in lane c; where a unit is 16,
//                                       f.scale[g] has chunk 4g + i's two halves in lanes i and i + 4
// A float format instead has load(p): eight values.
#pragma once

#include <cstdint>

#include "cpp/cpu/simd.h"

namespace lane::cpu::LANE_ISA {

using std::int64_t;
using std::int8_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

inline constexpr int kChunk = 32;  // values of a chunk: the block of a quantised activation
inline constexpr int kGroup = 8;   // chunks whose factors are read together

template <int kUnit>
struct Factors {
  F32 scale[kChunk / kUnit];
  F32 minimum[kChunk / kUnit];
};

template <class T>
LANE_INLINE T read_le(const uint8_t* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof value);
  return value;
}

LANE_INLINE float read_f16(const uint8_t* p) { return f16_value(read_le<uint16_t>(p)); }

// Eight f16 fields `kStride` bytes apart, of which `count` are there.
template <int kStride>
LANE_INLINE F32 load_f16_fields(const uint8_t* p, int count) {
  uint16_t fields[8] = {};
  if (count == 8) {
    for (int i = 0; i < 8; ++i) fields[i] = read_le<uint16_t>(p + i * kStride);
  } else {
    for (int i = 0; i < count; ++i) fields[i] = read_le<uint16_t>(p + i * kStride);
  }
  return load_f16(fields);
}

// 16 bytes, one a unit of 16 in the row's order, in the order of Factors: of each four chunks the first halves, then
// the second ones.
LANE_INLINE void order_halves(const uint8_t* p, void* out) {
  static constexpr uint8_t kOrder[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  auto* ordered = static_cast<uint8_t*>(out);
  for (int i = 0; i < 16; ++i) ordered[i] = p[kOrder[i]];
}

}  // namespace lane::cpu::LANE_ISA
