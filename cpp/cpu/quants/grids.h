// What the IQ formats share: values are vectors of a fixed grid, chosen by an index, times signs and scales.
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

// A vector of eight, or two vectors of four, as one number.
LANE_INLINE uint64_t grid_vector(const int8_t (&vector)[8]) {
  return read_le<uint64_t>(reinterpret_cast<const uint8_t*>(vector));
}
LANE_INLINE uint64_t grid_vectors(const int8_t (&first)[4], const int8_t (&second)[4]) {
  return read_le<uint32_t>(reinterpret_cast<const uint8_t*>(first)) |
         static_cast<uint64_t>(read_le<uint32_t>(reinterpret_cast<const uint8_t*>(second))) << 32;
}

// Four masks of eight signs from fields of seven bits.
LANE_INLINE uint32_t sign_masks(uint32_t packed) {
  const uint32_t low = tables::kSignMasks[packed & 127] | tables::kSignMasks[packed >> 7 & 127] << 8;
  return low | static_cast<uint32_t>(tables::kSignMasks[packed >> 14 & 127]) << 16 |
         static_cast<uint32_t>(tables::kSignMasks[packed >> 21 & 127]) << 24;
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
