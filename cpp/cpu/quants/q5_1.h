// Q5_1: 32 values d·q + m: f16 d and m, 32 bits that are the values' fifth bits, 16 bytes of nibbles as in Q4_0.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q5_1 : Block<tables::kQ5_1> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 31;
  static constexpr bool kSigned = false, kMinimum = true;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block), m = read_f16(block + 2);
    const uint32_t fifth = read_le<uint32_t>(block + 4);
    for (int i = 0; i < 32; ++i) {
      const int nibble = i < 16 ? block[8 + i] & 15 : block[8 + i - 16] >> 4;
      const int high = static_cast<int>(fifth >> i & 1u) << 4;
      out[i] = d * static_cast<float>(nibble | high) + m;
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk * kBlockBytes;
    return load_nibbles(block + 8) | (spread_bits(read_le<uint32_t>(block + 4)) & splat_byte(16));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    load_f16_pair_fields<kBlockBytes>(row + chunk * kBlockBytes, count, f.scale[0], f.minimum[0]);
  }
};

}  // namespace lane::cpu::LANE_ISA
