// Q5_0: 32 values d·(q - 16): an f16 d, 32 bits that are the values' fifth bits, 16 bytes of nibbles as in Q4_0.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q5_0 : Block<tables::kQ5_0> {
  static constexpr int kUnit = 32, kZero = 16, kMaxWord = 31;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    const uint32_t fifth = read_le<uint32_t>(block + 2);
    for (int i = 0; i < 32; ++i) {
      const int nibble = i < 16 ? block[6 + i] & 15 : block[6 + i - 16] >> 4;
      const int high = static_cast<int>(fifth >> i & 1u) << 4;
      out[i] = d * static_cast<float>((nibble | high) - 16);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk * kBlockBytes;
    return load_nibbles(block + 6) | (spread_bits(read_le<uint32_t>(block + 2)) & splat_byte(16));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    f.scale[0] = load_f16_fields<kBlockBytes>(row + chunk * kBlockBytes, count);
  }
};

}  // namespace lane::cpu::LANE_ISA
