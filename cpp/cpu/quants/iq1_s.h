// IQ1_S: 256 values in 8 units of 32, value = (d·(2·s + 1))·(grid ± 1/8): an f16 d, 32 low bytes of indices of vectors
// of eight, then 16 bits a unit: three high bits of each of its four indices, three bits s, and on top the sign of 1/8.
// The eighth is a unit's minimum.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ1_S : Block<tables::kIQ1_S> {
  static constexpr int kUnit = 32, kZero = greatest_entry(tables::kIq1SGrid), kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = true;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int v = 0; v < 32; ++v) {
      const uint32_t packed = read_le<uint16_t>(block + 34 + v / 4 * 2);
      const uint32_t index = block[2 + v] | (packed >> 3 * (v % 4) & 7) << 8;
      const float shift = packed >> 15 ? -0.125f : 0.125f, scale = d * static_cast<float>(2 * (packed >> 12 & 7) + 1);
      for (int i = 0; i < 8; ++i) out[8 * v + i] = scale * (static_cast<float>(tables::kIq1SGrid[index][i]) + shift);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    uint16_t index[32];
    store_zipped(index, load_bytes(block + 2), spread_fields<3>(widen_u16(block + 34)));
    return grid_chunk(tables::kIq1SGrid, [&](int v) { return index[4 * c + v]; }) + splat_byte(kZero);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const I32 units = widen_u16(block + 34), s = shift_right<12>(units) & splat(7);
    f.scale[0] = splat(read_f16(block)) * to_f32(s + s + splat(1));
    f.minimum[0] = f.scale[0] * (splat(0.125f) - splat(0.25f) * to_f32(shift_right<15>(units)));
  }
};

}  // namespace lane::cpu::LANE_ISA
