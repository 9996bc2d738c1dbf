// What the formats' files share: reading little-endian fields, and the factors of eight chunks at a time.
//
// A format is a struct of static members, which derives from Block:
//   kName, kTypeId (ggml's), kBlockElems, kBlockBytes    its geometry
//   decode(block, out)                                   a block's values in f32, each operation rounded once, in the
//                                                        order that defines the format
// A format whose blocks hold small integers adds its canonical form, value = scale · (word - kZero) + minimum:
//   kUnit        values that share a scale: 32, or 16
//   kSigned      words are signed bytes (kZero is 0), else unsigned up to kMaxWord (at most 127)
//   kMinimum     there is a minimum for each unit
//   words(row, chunk)                   the words of values 32·chunk .. 32·chunk + 31 of a row
//   factors(row, chunk, count, f)       scales (and minima) of the `count` chunks, at most 8, from `chunk` on, a
//   multiple
//                                       of 8; zero beyond. f.scale[0] has unit c in lane c; where a unit is 16,
//                                       f.scale[g] has chunk 4g + i's two halves in lanes i and i + 4
// A float format instead has load(p): eight values.
#pragma once

#include <cstdint>

#include "cpp/cpu/simd.h"
#include "lane_quant_tables.h"

namespace lane::cpu::LANE_ISA {

using std::int64_t;
using std::int8_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

inline constexpr int kChunk = 32;  // values of a chunk: the block of a quantised activation
inline constexpr int kGroup = 8;   // chunks whose factors are read together

// The geometry that a format has in the generated tables.
template <const tables::Geometry& kGeometry>
struct Block {
  static constexpr const char* kName = kGeometry.name;
  static constexpr int kTypeId = kGeometry.type_id;
  static constexpr int kBlockElems = kGeometry.block_elems, kBlockBytes = kGeometry.block_bytes;
};

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

// Eight fields of four or of two bits, the lowest first, as eight bytes.
LANE_INLINE uint64_t spread_nibbles(uint32_t packed) {
  uint64_t x = packed;
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  x = (x | x << 8) & 0x00ff00ff00ff00ffu;
  return (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
}
LANE_INLINE uint64_t spread_pairs(uint32_t packed) {
  uint64_t x = packed;
  x = (x | x << 24) & 0x000000ff000000ffu;
  x = (x | x << 12) & 0x000f000f000f000fu;
  return (x | x << 6) & 0x0303030303030303u;
}

// Eight pairs of adjacent f16 fields, the pairs `kStride` bytes apart, of which `count` are there.
template <int kStride>
LANE_INLINE void load_f16_pair_fields(const uint8_t* p, int count, F32& first, F32& second) {
  uint32_t pairs[8] = {};
  if (count == 8) {
    for (int i = 0; i < 8; ++i) pairs[i] = read_le<uint32_t>(p + i * kStride);
  } else {
    for (int i = 0; i < count; ++i) pairs[i] = read_le<uint32_t>(p + i * kStride);
  }
  load_f16_pairs(pairs, first, second);
}

// 16 bytes, one a unit of 16 in the row's order, in the order of Factors (of each four chunks the first halves, then
// the second ones); both twice, once in each half. Ordered in a register: bytes stored one by one could not be loaded
// together at once.
LANE_INLINE Bytes order_halves(Bytes units) {
  static constexpr uint8_t kOrder[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  return look_up(units, load_16_twice(kOrder));
}

}  // namespace lane::cpu::LANE_ISA
