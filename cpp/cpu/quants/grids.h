// What the IQ formats share: values are vectors of a fixed grid, chosen by an index, times signs and scales.
//
// Their words() take a block's indices and signs apart for all of its chunks at once, which is eight lanes' work, and
// then use one chunk's. Where a group's chunks are unrolled the compiler shares the first part between them.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

// The greatest size of a grid's entries: what makes a signed entry an unsigned word.
template <int kEntries, int kWidth>
constexpr int greatest_entry(const std::int8_t (&grid)[kEntries][kWidth]) {
  int greatest = 0;
  for (const auto& vector : grid) {
    for (const int entry : vector) greatest = entry > greatest ? entry : -entry > greatest ? -entry : greatest;
  }
  return greatest;
}

// A chunk of vectors: index(v) is vector v's.
template <int kEntries, class Index>
LANE_INLINE Bytes grid_chunk(const int8_t (&grid)[kEntries][8], Index index) {
  const auto vector = [&](int v) { return read_le<uint64_t>(reinterpret_cast<const uint8_t*>(grid[index(v)])); };
  return from_words(vector(0), vector(1), vector(2), vector(3));
}
template <int kEntries, class Index>
LANE_INLINE Bytes grid_chunk(const int8_t (&grid)[kEntries][4], Index index) {
  const auto vector = [&](int v) { return read_le<uint32_t>(reinterpret_cast<const uint8_t*>(grid[index(v)])); };
  return from_words({vector(0), vector(1), vector(2), vector(3), vector(4), vector(5), vector(6), vector(7)});
}

// Of eight words the four lowest fields of kBits bits, each in a byte of its own.
template <int kBits>
LANE_INLINE Bytes spread_fields(I32 words) {
  constexpr std::int32_t kMask = (1 << kBits) - 1;
  const I32 low = (words & splat(kMask)) + (shift_left<8 - kBits>(words) & splat(kMask << 8));
  const I32 high = (shift_left<16 - 2 * kBits>(words) & splat(kMask << 16)) +
                   (shift_left<24 - 3 * kBits>(words) & splat(kMask << 24));
  return bytes_of(low + high);
}

// 32 masks of eight signs from their first seven: the eighth makes the minus signs even.
LANE_INLINE Bytes complete_signs(Bytes sevens) {
  static constexpr uint8_t kOdd[16] = {0, 128, 128, 0, 128, 0, 0, 128, 128, 0, 0, 128, 0, 128, 128, 0};
  const Bytes odd = load_16_twice(kOdd);  // by a nibble: the top bit if it has an odd number of ones
  return sevens | (look_up(odd, sevens & splat_byte(15)) ^ look_up(odd, shift_right<4>(sevens)));
}

// The words kZero + entry, or kZero - entry where the entry's bit is set.
template <int kZero>
LANE_INLINE Bytes signed_words(Bytes entries, uint32_t minus) {
  const Bytes mask = spread_bits(minus);
  return (entries ^ mask) + (splat_byte(kZero) - mask);
}

// scale · ±entry of `count` neighbours, bit i of `minus` being entry i's sign.
inline void decode_signed(const int8_t* entries, int count, uint32_t minus, float scale, float* out) {
  for (int i = 0; i < count; ++i) out[i] = scale * static_cast<float>(minus >> i & 1u ? -entries[i] : entries[i]);
}

// The scales of chunks 4·g to 4·g + 3 in the order of Factors, of 8 bytes that each hold a chunk's two, four bits each.
LANE_INLINE F32 half_scales(const uint8_t* packed, int g) {
  const uint32_t four = read_le<uint32_t>(packed + 4 * g);
  const uint64_t halves = (four & 0x0f0f0f0fu) | static_cast<uint64_t>(four >> 4 & 0x0f0f0f0fu) << 32;
  return load_u8(&halves);
}

}  // namespace lane::cpu::LANE_ISA
