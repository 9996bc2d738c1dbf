// MXFP4: 32 four-bit floats (E2M1) under one power of two (E8M0): a byte e before 16 bytes of nibbles as in Q4_0. The
// floats doubled are integers v[q], so value = 2^(e - 128)·v[q].
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct MXFP4 : Block<tables::kMXFP4> {
  static constexpr int kUnit = 32, kZero = 12, kMaxWord = 24;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float scale = __builtin_bit_cast(float, scale_bits(block[0]));
    for (int i = 0; i < 16; ++i) {
      out[i] = scale * static_cast<float>(tables::kE2m1Doubled[block[1 + i] & 15]);
      out[i + 16] = scale * static_cast<float>(tables::kE2m1Doubled[block[1 + i] >> 4]);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    return look_up(load_16_twice(tables::kE2m1Doubled), load_nibbles(row + chunk * kBlockBytes + 1)) +
           splat_byte(kZero);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    std::int32_t scales[8] = {};
    for (int c = 0; c < count; ++c) {
      scales[c] = static_cast<std::int32_t>(scale_bits(row[(chunk + c) * kBlockBytes]));
    }
    f.scale[0] = from_bits(load(scales));
  }

 private:
  // 2^(e - 128) as f32: a normal number's exponent field is e - 1; below that come two subnormal numbers.
  LANE_INLINE static uint32_t scale_bits(uint32_t e) { return e < 2 ? 0x00200000u << e : (e - 1) << 23; }
};

}  // namespace lane::cpu::LANE_ISA
