// Q2_K: 256 values in 16 units of 16, value = (d·s)·q - dmin·m: 16 bytes, each a unit's s below its m, 64 bytes of
// two-bit q, f16 d and dmin. Each 32 bytes of q hold 128 values: value 32·j + i is bits 2j and 2j + 1 of byte i.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q2_K : Block<tables::kQ2_K> {
  static constexpr int kUnit = 16, kZero = 0, kMaxWord = 3;
  static constexpr bool kSigned = false, kMinimum = true;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block + 80), dmin = read_f16(block + 82);
    for (int i = 0; i < 256; ++i) {
      const int word = block[16 + 32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
      const float scale = d * static_cast<float>(block[i / 16] & 15);
      const float minimum = dmin * static_cast<float>(block[i / 16] >> 4);
      out[i] = scale * static_cast<float>(word) - minimum;
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    return move_bits(load_bytes(block + 16 + 32 * (chunk % 8 / 4)), static_cast<int>(2 * (chunk % 4)), 0, 3);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const F32 d = splat(read_f16(block + 80)), dmin = splat(read_f16(block + 82));
    const Bytes ordered = order_halves(load_16_twice(block));
    uint8_t scales[sizeof(Bytes)], minima[sizeof(Bytes)];
    store(scales, ordered & splat_byte(15));
    store(minima, shift_right<4>(ordered));
    for (int g = 0; g < 2; ++g) {
      f.scale[g] = d * load_u8(scales + 8 * g);
      f.minimum[g] = splat(0.0f) - dmin * load_u8(minima + 8 * g);
    }
  }
};

}  // namespace lane::cpu::LANE_ISA
