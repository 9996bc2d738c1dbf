// Q5_K: 256 values in 8 units of 32, value = (d·s)·q - dmin·m: f16 d and dmin, 12 bytes of 6-bit s and m as in Q4_K, 32
// bytes of fifth bits (bit u of byte i is that of value i of unit u), then 128 bytes of nibbles as in Q4_K.
#pragma once

#include "cpp/cpu/quants/q4_k.h"

namespace lane::cpu::LANE_ISA {

struct Q5_K : Block<tables::kQ5_K> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 31;
  static constexpr bool kSigned = false, kMinimum = true;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block), dmin = read_f16(block + 2);
    uint8_t packed[16];
    unpack_k_scales(block + 4, packed);
    for (int unit = 0; unit < 8; ++unit) {
      const float scale = d * static_cast<float>(packed[unit]);
      const float minimum = dmin * static_cast<float>(packed[8 + unit]);
      const uint8_t* q = block + 48 + 32 * (unit / 2);
      for (int i = 0; i < 32; ++i) {
        const int nibble = unit % 2 ? q[i] >> 4 : q[i] & 15;
        const int high = (block[16 + i] >> unit & 1) << 4;
        out[32 * unit + i] = scale * static_cast<float>(nibble | high) - minimum;
      }
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int unit = static_cast<int>(chunk % 8);
    const Bytes nibble = move_bits(load_bytes(block + 48 + 32 * (unit / 2)), unit % 2 * 4, 0, 15);
    return nibble | move_bits(load_bytes(block + 16), unit, 4, 16);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    uint8_t packed[16];
    unpack_k_scales(block + 4, packed);
    f.scale[0] = splat(read_f16(block)) * load_u8(packed);
    f.minimum[0] = splat(0.0f) - splat(read_f16(block + 2)) * load_u8(packed + 8);
  }
};

}  // namespace lane::cpu::LANE_ISA
