// Q4_0: 32 values d·(q - 8), an f16 d before 16 bytes: the low nibbles are the first 16 values, the high ones the rest.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q4_0 : Block<tables::kQ4_0> {
  static constexpr int kUnit = 32, kZero = 8, kMaxWord = 15;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>((block[2 + i] & 15) - 8);
      out[i + 16] = d * static_cast<float>((block[2 + i] >> 4) - 8);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    return load_nibbles(row + chunk * kBlockBytes + 2);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    f.scale[0] = load_f16_fields<kBlockBytes>(row + chunk * kBlockBytes, count);
  }
};

}  // namespace lane::cpu::LANE_ISA
