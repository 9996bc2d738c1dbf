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
      const uint32_t packed = read_le<uint32_t>(block + 66 + v / 8 * 4), minus = sign_masks(packed);
      const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.5f;
      decode_signed(tables::kIq3XxsGrid[block[2 + v]], 4, minus >> 4 * (v % 8), scale, out + 4 * v);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const uint8_t* index = block + 2 + chunk % 8 * 8;
    const auto vectors = [index](int v) {
      return grid_vectors(tables::kIq3XxsGrid[index[v]], tables::kIq3XxsGrid[index[v + 1]]);
    };
    return signed_words<kZero>(from_words(vectors(0), vectors(2), vectors(4), vectors(6)),
                               sign_masks(read_le<uint32_t>(block + 66 + chunk % 8 * 4)));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const uint64_t scales = gather_bytes<4>(block + 69) >> 4 & 0x0f0f0f0f0f0f0f0fu;
    f.scale[0] = splat(read_f16(block)) * (splat(0.5f) + load_u8(&scales)) * splat(0.5f);
  }
};

}  // namespace lane::cpu::LANE_ISA
