// IQ4_NL: 32 values d·v[q], v a list of 16 levels: an f16 d before 16 bytes of nibbles as in Q4_0.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct IQ4_NL : Block<tables::kIQ4_NL> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 127;
  static constexpr bool kSigned = true, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(tables::kIq4Levels[block[2 + i] & 15]);
      out[i + 16] = d * static_cast<float>(tables::kIq4Levels[block[2 + i] >> 4]);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    return look_up(load_16_twice(tables::kIq4Levels), load_nibbles(row + chunk * kBlockBytes + 2));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    f.scale[0] = load_f16_fields<kBlockBytes>(row + chunk * kBlockBytes, count);
  }
};

}  // namespace lane::cpu::LANE_ISA
