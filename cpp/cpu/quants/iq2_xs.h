// IQ2_XS: 256 values in 16 units of 16, value = (d·(1/2 + s)/4)·±grid: an f16 d, 32 words of 16 bits, each nine bits of
// index of a vector of eight below a mask of seven signs (the eighth makes the minus signs even), 8 bytes of two s
// each.
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
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    uint32_t minus[8];
    store(minus, complete_signs(move_bits(odd_bytes(load_bytes(block + 2), load_bytes(block + 34)), 1, 0, 127)));
    const auto index = [&](int v) { return read_le<uint16_t>(block + 2 + 8 * c + 2 * v) & 511; };
    return signed_words<kZero>(grid_chunk(tables::kIq2XsGrid, index), minus[c]);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const F32 d = splat(read_f16(block));
    for (int g = 0; g < 2; ++g) f.scale[g] = d * (splat(0.5f) + half_scales(block + 66, g)) * splat(0.25f);
  }
};

}  // namespace lane::cpu::LANE_ISA
