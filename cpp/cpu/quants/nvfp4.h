// NVFP4: 64 four-bit floats (E2M1) in 4 units of 16, each under an eight-bit float without sign (E4M3): 4 bytes of
// scales, then 8 bytes a unit, whose low nibbles are its first 8 values and whose high ones the rest. The floats
// doubled are integers v[q], so value = s·v[q] with s half the scale.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct NVFP4 : Block<tables::kNVFP4> {
  static constexpr int kUnit = 16, kZero = 12, kMaxWord = 24;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    for (int i = 0; i < 64; ++i) {
      const float scale = kStep * f16_value(scale_field(block[i / 16]));
      const int nibble = block[4 + i / 16 * 8 + i % 8] >> (i % 16 < 8 ? 0 : 4) & 15;
      out[i] = scale * static_cast<float>(tables::kE2m1Doubled[nibble]);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* q = row + chunk / 2 * kBlockBytes + 4 + chunk % 2 * 16;
    return look_up(load_16_twice(tables::kE2m1Doubled), load_nibbles_by_8(q)) + splat_byte(kZero);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int count, Factors<kUnit>& f) {
    uint32_t packed[4] = {};
    for (int b = 0; b < count / 2; ++b) packed[b] = read_le<uint32_t>(row + (chunk / 2 + b) * kBlockBytes);
    const Bytes ordered = order_halves(load_16_twice(packed));
    const Bytes nan = at_least(ordered, 0x7f) ^ at_least(ordered, 0x80);
    const Bytes scales = ordered ^ (ordered & nan);
    uint16_t fields[32];
    store_zipped(fields, shift_left<7>(scales), move_bits(scales, 1, 0, 0x3f));
    for (int g = 0; g < 2; ++g) f.scale[g] = splat(kStep) * load_f16(fields + 8 * g);
  }

 private:
  // E4M3's bits are those of an f16 of 2^-8 its size; halved, 2^-7. 0x7f, the type's NaN, counts as 0; else the top bit
  // is not read.
  static constexpr float kStep = 128.0f;
  LANE_INLINE static uint16_t scale_field(uint8_t e4m3) {
    return e4m3 == 0x7f ? uint16_t{0} : static_cast<uint16_t>((e4m3 & 0x7f) << 7);
  }
};

}  // namespace lane::cpu::LANE_ISA
