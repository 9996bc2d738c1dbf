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
      const uint32_t packed = read_le<uint32_t>(p + 4);
      const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.25f;
      for (int v = 0; v < 4; ++v) {
        const uint32_t minus = tables::kSignMasks[packed >> 7 * v & 127];
        decode_signed(tables::kIq2XxsGrid[p[v]], 8, minus, scale, out + 32 * unit + 8 * v);
      }
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    uint32_t minus[8];
    store(minus, complete_signs(spread_fields<7>(sign_words(block))));
    return signed_words<kZero>(grid_chunk(tables::kIq2XxsGrid, [&](int v) { return block[2 + 8 * c + v]; }), minus[c]);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    f.scale[0] = splat(read_f16(block)) * (splat(0.5f) + to_f32(shift_right<28>(sign_words(block)))) * splat(0.25f);
  }

 private:
  LANE_INLINE static I32 sign_words(const uint8_t* block) {
    return odd_lanes(from_bytes(load_bytes(block + 2)), from_bytes(load_bytes(block + 34)));
  }
};

}  // namespace lane::cpu::LANE_ISA
