// Q6_K: 256 values in 16 units of 16, value = (d·s)·(q - 32): 128 bytes of low nibbles, 64 bytes of high two bits, 16
// signed bytes s, an f16 d. Each half of 128 values has 64 + 32 bytes: value 32·j + i of it takes the low (j < 2) or
// high nibble of byte 32·(j mod 2) + i, and bits 2j and 2j + 1 of high byte i.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q6_K : Block<tables::kQ6_K> {
  static constexpr int kUnit = 16, kZero = 32, kMaxWord = 63;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block + 208);
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128, j = i % 128 / 32;
      const int low = block[64 * half + 32 * (j % 2) + i % 32] >> (j < 2 ? 0 : 4) & 15;
      const int high = block[128 + 32 * half + i % 32] >> (2 * j) & 3;
      const float scale = d * static_cast<float>(static_cast<int8_t>(block[192 + i / 16]));
      out[i] = scale * static_cast<float>((low | high << 4) - 32);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t half = chunk % 8 / 4, j = chunk % 4;
    const Bytes low = load_bytes(block + 64 * half + 32 * (j % 2));
    const Bytes high = load_bytes(block + 128 + 32 * half);
    const Bytes nibble = j < 2 ? low & splat_byte(15) : shift_right<4>(low);
    const Bytes top = splat_byte(0x30);
    switch (j) {
      case 0:
        return nibble | (shift_left<4>(high) & top);
      case 1:
        return nibble | (shift_left<2>(high) & top);
      case 2:
        return nibble | (high & top);
      default:
        return nibble | (shift_right<2>(high) & top);
    }
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const F32 d = splat(read_f16(block + 208));
    int8_t ordered[sizeof(Bytes)];
    store(ordered, order_halves(load_16_twice(block + 192)));
    f.scale[0] = d * load_i8(ordered);
    f.scale[1] = d * load_i8(ordered + 8);
  }
};

}  // namespace lane::cpu::LANE_ISA
