// IQ2_XS: 256 values in 16 units of 16, value = (d·(1/2 + s)/4)·±grid: an f16 d, 32 words of 16 bits, each nine bits of
// index of a vector of eight below a mask of seven signs (the eighth makes the minus signs even), 8 bytes of two s each.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ2_XS : Block<tables::kIQ2_XS> {
  static constexpr int kUnit = 16, kZero = greatest_entry(tables::kIq2XsGrid), kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int v = 0; v < 32; ++v) {
      const uint32_t packed = read_le<uint16_t>(block + 2 + 2 * v);
      const int s = block[66 + v / 4] >> v % 4 / 2 * 4 & 15;
      const float scale = d * (0.5f + static_cast<float>(s)) * 0.25f;
      decode_signed(tables::kIq2XsGrid[packed & 511], 8, tables::kSignMasks[packed >> 9], scale, out + 8 * v);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint64_t four = read_le<uint64_t>(row + chunk / 8 * kBlockBytes + 2 + chunk % 8 * 8);
    const auto vector = [four](int v) { return grid_vector(tables::kIq2XsGrid[four >> 16 * v & 511]); };
    const auto minus = [four](int v) {
      return static_cast<uint32_t>(tables::kSignMasks[four >> (16 * v + 9) & 127]) << 8 * v;
    };
    return signed_words<kZero>(from_words(vector(0), vector(1), vector(2), vector(3)),
                               minus(0) | minus(1) | minus(2) | minus(3));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const F32 d = splat(read_f16(block));
    for (int g = 0; g < 2; ++g) f.scale[g] = d * (splat(0.5f) + half_scales(block + 66, g)) * splat(0.25f);
  }
};

}  // namespace lane::cpu::LANE_ISA
