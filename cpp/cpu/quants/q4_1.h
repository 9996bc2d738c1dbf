// Q4_1: 32 values d·q + m, f16 d and m before 16 bytes of nibbles as in Q4_0.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q4_1 : Block<tables::kQ4_1> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 15;
  static constexpr bool kSigned = false, kMinimum = true;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block), m = read_f16(block + 2);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(block[4 + i] & 15) + m;
      out[i + 16] = d * static_cast<float>(block[4 + i] >> 4) + m;
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    return load_nibbles(row + chunk * kBlockBytes + 4);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    load_f16_pair_fields<kBlockBytes>(row + chunk * kBlockBytes, count, f.scale[0], f.minimum[0]);
  }
};

}  // namespace lane::cpu::LANE_ISA
