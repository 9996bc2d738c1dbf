// IQ3_XXS: 256 values in 8 units of 32, value = (d·(1/2 + s)/2)·±grid: an f16 d, 64 indices of vectors of four, then 32
// bits a unit that are four masks of seven signs (the eighth makes the minus signs even) below s.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ3_XXS : Block<tables::kIQ3_XXS> {
  static constexpr int kUnit = 32, kZero = greatest_entry(tables::kIq3XxsGrid), kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int v = 0; v < 64; ++v) {
      const uint32_t packed = read_le<uint32_t>(block + 66 + v / 8 * 4);
      const uint32_t minus = tables::kSignMasks[packed >> 7 * (v % 8 / 2) & 127] >> v % 2 * 4;
      const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.5f;
      decode_signed(tables::kIq3XxsGrid[block[2 + v]], 4, minus, scale, out + 4 * v);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    uint32_t minus[8];
    store(minus, complete_signs(spread_fields<7>(sign_words(block))));
    return signed_words<kZero>(grid_chunk(tables::kIq3XxsGrid, [&](int v) { return block[2 + 8 * c + v]; }), minus[c]);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    f.scale[0] = splat(read_f16(block)) * (splat(0.5f) + to_f32(shift_right<28>(sign_words(block)))) * splat(0.5f);
  }

 private:
  LANE_INLINE static I32 sign_words(const uint8_t* block) { return from_bytes(load_bytes(block + 66)); }
};

}  // namespace lane::cpu::LANE_ISA
