// TQ2_0: 256 values d·(q - 1): 64 bytes of two-bit q laid as in Q2_K, an f16 d. q is 0, 1 or 2; a 3 counts as it is.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct TQ2_0 : Block<tables::kTQ2_0> {
  static constexpr int kUnit = 32, kZero = 1, kMaxWord = 3;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block + 64);
    for (int i = 0; i < 256; ++i) {
      const int word = block[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
      out[i] = d * static_cast<float>(word - 1);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    return move_bits(load_bytes(block + 32 * (chunk % 8 / 4)), static_cast<int>(2 * (chunk % 4)), 0, 3);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    f.scale[0] = splat(read_f16(row + chunk / 8 * kBlockBytes + 64));
  }
};

}  // namespace lane::cpu::LANE_ISA
