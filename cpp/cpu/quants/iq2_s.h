// IQ2_S: 256 values in 16 units of 16, value = (d·(1/2 + s)/4)·±grid: an f16 d, 32 low bytes of indices of vectors of
// eight, 32 masks of eight signs, 8 bytes that hold four indices' high two bits each, 8 bytes of two s each.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ2_S : Block<tables::kIQ2_S> {
  static constexpr int kUnit = 16, kZero = greatest_entry(tables::kIq2SGrid), kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int v = 0; v < 32; ++v) {
      const int index = block[2 + v] | (block[66 + v / 4] >> 2 * (v % 4) & 3) << 8;
      const int s = block[74 + v / 4] >> v % 4 / 2 * 4 & 15;
      const float scale = d * (0.5f + static_cast<float>(s)) * 0.25f;
      decode_signed(tables::kIq2SGrid[index], 8, block[34 + v], scale, out + 8 * v);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    uint16_t index[32];
    store_zipped(index, load_bytes(block + 2), spread_fields<2>(widen_u8(block + 66)));
    return signed_words<kZero>(grid_chunk(tables::kIq2SGrid, [&](int v) { return index[4 * c + v]; }),
                               read_le<uint32_t>(block + 34 + 4 * c));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const F32 d = splat(read_f16(block));
    for (int g = 0; g < 2; ++g) f.scale[g] = d * (splat(0.5f) + half_scales(block + 74, g)) * splat(0.25f);
  }
};

}  // namespace lane::cpu::LANE_ISA
