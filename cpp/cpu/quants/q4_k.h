// Q4_K: 256 values in 8 units of 32, value = (d·s)·q - dmin·m: f16 d and dmin, 12 bytes of 6-bit s and m, then 128
// bytes of nibbles: each 32 bytes hold one unit in their low and the next in their high nibbles.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

// The 8 six-bit scales, then the 8 six-bit minima, of a K-quant's 12 packed bytes. Bytes 0-3 hold s[0..3] and bytes 4-7
// m[0..3] in their low six bits; s[4..7] and m[4..7] have their low nibbles in the low and high nibbles of bytes 8-11
// and their high two bits in the top bits of bytes 0-3 and 4-7.
LANE_INLINE void unpack_k_scales(const uint8_t* p, uint8_t* out) {
  const uint32_t a = read_le<uint32_t>(p), b = read_le<uint32_t>(p + 4), c = read_le<uint32_t>(p + 8);
  const uint32_t parts[4] = {
      a & 0x3f3f3f3fu,
      (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u),
      b & 0x3f3f3f3fu,
      (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u),
  };
  __builtin_memcpy(out, parts, sizeof parts);
}

struct Q4_K : Block<tables::kQ4_K> {
  static constexpr int kUnit = 32, kZero = 0, kMaxWord = 15;
  static constexpr bool kSigned = false, kMinimum = true;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block), dmin = read_f16(block + 2);
    uint8_t packed[16];
    unpack_k_scales(block + 4, packed);
    for (int unit = 0; unit < 8; ++unit) {
      const float scale = d * static_cast<float>(packed[unit]);
      const float minimum = dmin * static_cast<float>(packed[8 + unit]);
      const uint8_t* q = block + 16 + 32 * (unit / 2);
      for (int i = 0; i < 32; ++i) {
        const int word = unit % 2 ? q[i] >> 4 : q[i] & 15;
        out[32 * unit + i] = scale * static_cast<float>(word) - minimum;
      }
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const Bytes pair = load_bytes(row + chunk / 8 * kBlockBytes + 16 + 32 * (chunk % 8 / 2));
    return chunk % 2 ? shift_right<4>(pair) : pair & splat_byte(15);
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
