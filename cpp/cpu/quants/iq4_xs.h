// IQ4_XS: 256 values in 8 units of 32, value = (d·(s - 32))·v[q], v the levels of IQ4_NL: an f16 d, 2 bytes with the
// high two bits of each s, 4 bytes with their low four, then 16 bytes of nibbles a unit as in Q4_0.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct IQ4_XS : Block<tables::kIQ4_XS> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 127;
  static constexpr bool kSigned = true, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    const uint64_t packed = scales(block);
    for (int i = 0; i < 256; ++i) {
      const float scale = d * static_cast<float>(static_cast<int>(packed >> i / 32 * 8 & 63) - 32);
      const int nibble = block[8 + i / 32 * 16 + i % 16] >> (i % 32 < 16 ? 0 : 4) & 15;
      out[i] = scale * static_cast<float>(tables::kIq4Levels[nibble]);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* q = row + chunk / 8 * kBlockBytes + 8 + chunk % 8 * 16;
    return look_up(load_16_twice(tables::kIq4Levels), load_nibbles(q));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const uint64_t packed = scales(block);
    f.scale[0] = splat(read_f16(block)) * (load_u8(&packed) - splat(32.0f));
  }

 private:
  LANE_INLINE static uint64_t scales(const uint8_t* block) {
    return spread_nibbles(read_le<uint32_t>(block + 4)) | spread_pairs(read_le<uint16_t>(block + 2)) << 4;
  }
};

}  // namespace lane::cpu::LANE_ISA
