// IQ1_S: 256 values in 8 units of 32, value = (d·(2·s + 1))·(grid ± 1/8): an f16 d, 32 low bytes of indices of vectors of
// eight, then 16 bits a unit: three high bits of each of its four indices, three bits s, and on top the sign of 1/8.
// Words are eighths: 8·grid ± 1.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ1_S : Block<tables::kIQ1_S> {
  static constexpr int kUnit = 32, kZero = 8 * greatest_entry(tables::kIq1SGrid) + 1, kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

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
    const uint8_t* low = block + 2 + chunk % 8 * 4;
    const uint32_t packed = read_le<uint16_t>(block + 34 + chunk % 8 * 2);
    const auto vector = [&](int v) { return grid_vector(tables::kIq1SGrid[low[v] | (packed >> 3 * v & 7) << 8]); };
    const Bytes eighths = shift_left<3>(from_words(vector(0), vector(1), vector(2), vector(3)));
    return eighths + splat_byte(packed >> 15 ? kZero - 1 : kZero + 1);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const uint64_t scales = (gather_bytes<2>(block + 35) >> 3 & 0x0e0e0e0e0e0e0e0eu) + 0x0101010101010101u;
    f.scale[0] = splat(read_f16(block)) * load_u8(&scales) * splat(0.125f);
  }
};

}  // namespace lane::cpu::LANE_ISA
