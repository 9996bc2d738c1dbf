// IQ2_XXS: 256 values in 8 units of 32, value = (d·(1/2 + s)/4)·±grid: an f16 d, then 8 bytes a unit: four indices of
// vectors of eight, and 32 bits that are four masks of seven signs (the eighth makes the minus signs even) below s.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ2_XXS : Block<tables::kIQ2_XXS> {
  static constexpr int kUnit = 32, kZero = greatest_entry(tables::kIq2XxsGrid), kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int unit = 0; unit < 8; ++unit) {
      const uint8_t* p = block + 2 + 8 * unit;
      const uint32_t packed = read_le<uint32_t>(p + 4), minus = sign_masks(packed);
      const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.25f;
      for (int v = 0; v < 4; ++v) {
        decode_signed(tables::kIq2XxsGrid[p[v]], 8, minus >> 8 * v, scale, out + 32 * unit + 8 * v);
      }
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* p = row + chunk / 8 * kBlockBytes + 2 + chunk % 8 * 8;
    const auto vector = [p](int v) { return grid_vector(tables::kIq2XxsGrid[p[v]]); };
    return signed_words<kZero>(from_words(vector(0), vector(1), vector(2), vector(3)),
                               sign_masks(read_le<uint32_t>(p + 4)));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const uint64_t scales = gather_bytes<8>(block + 9) >> 4 & 0x0f0f0f0f0f0f0f0fu;
    f.scale[0] = splat(read_f16(block)) * (splat(0.5f) + load_u8(&scales)) * splat(0.25f);
  }
};

}  // namespace lane::cpu::LANE_ISA
