// IQ1_M: 256 values in 16 units of 16, value = (d·(2·s + 1))·(grid ± 1/8): 32 low bytes of indices of vectors of eight,
// 16 bytes of two vectors each (three high bits of the index below the sign of its 1/8), then four words of 16 bits
// that hold four s of three bits each and, on top, a quarter of the f16 d, the lowest first. Words are eighths: 8·grid
// ± 1.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ1_M : Block<tables::kIQ1_M> {
  static constexpr int kUnit = 16, kZero = 8 * greatest_entry(tables::kIq1SGrid) + 1, kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = f16_value(d_field(block));
    for (int v = 0; v < 32; ++v) {
      const int packed = block[32 + v / 2] >> v % 2 * 4 & 15;
      const int index = block[v] | (packed & 7) << 8;
      const int s = read_le<uint16_t>(block + 48 + v / 8 * 2) >> v % 8 / 2 * 3 & 7;
      const float shift = packed >> 3 ? -0.125f : 0.125f, scale = d * static_cast<float>(2 * s + 1);
      for (int i = 0; i < 8; ++i) out[8 * v + i] = scale * (static_cast<float>(tables::kIq1SGrid[index][i]) + shift);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    const Bytes packed = spread_fields<4>(widen_u16(block + 32));
    uint16_t index[32];
    uint32_t minus[8];
    store_zipped(index, load_bytes(block), packed & splat_byte(7));
    store(minus, at_least(packed, 8));
    const Bytes eighths = shift_left<3>(grid_chunk(tables::kIq1SGrid, [&](int v) { return index[4 * c + v]; }));
    return eighths + (splat_byte(kZero + 1) - (spread_bits(minus[c]) & splat_byte(2)));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const F32 d = splat(f16_value(d_field(block)));
    for (int g = 0; g < 2; ++g) {
      // Two words are the s of four chunks, halves in turn.
      const uint32_t two = read_le<uint32_t>(block + 48 + 4 * g);
      const uint64_t s = every_other(two) | static_cast<uint64_t>(every_other(two >> 3)) << 32;
      const uint64_t scales = 2 * s + 0x0101010101010101u;
      f.scale[g] = d * load_u8(&scales) * splat(0.125f);
    }
  }

 private:
  // The fields at bits 0, 6, 16 and 22 as four bytes.
  LANE_INLINE static uint32_t every_other(uint32_t two) { return (two & 0x00070007u) | (two & 0x01c001c0u) << 2; }

  LANE_INLINE static uint16_t d_field(const uint8_t* block) {
    const uint64_t words = read_le<uint64_t>(block + 48);
    return static_cast<uint16_t>((words >> 12 & 0xfu) | (words >> 24 & 0xf0u) | (words >> 36 & 0xf00u) |
                                 (words >> 48 & 0xf000u));
  }
};

}  // namespace lane::cpu::LANE_ISA
