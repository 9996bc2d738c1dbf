// Q8_0: 32 values d·q, an f16 d before 32 signed bytes.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q8_0 : Block<tables::kQ8_0> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 128;
  static constexpr bool kSigned = true, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    return load_bytes(row + chunk * kBlockBytes + 2);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    f.scale[0] = load_f16_fields<kBlockBytes>(row + chunk * kBlockBytes, count);
  }
};

}  // namespace lane::cpu::LANE_ISA
