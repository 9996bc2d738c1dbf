// Q3_K: 256 values in 16 units of 16, value = (d·(s - 32))·(q - 4): 32 bytes of third bits, 64 bytes of low two bits,
// 12 bytes of six-bit s, an f16 d. The low bits lie as in Q2_K; bit c of third-bit byte i is that of value 32·c + i.
// Eight bytes hold the low four bits of s, eight units in their low and eight in their high nibbles; bits 2j and 2j + 1
// of the other four are the high two of units 4j to 4j + 3.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct Q3_K : Block<tables::kQ3_K> {
  static constexpr int kUnit = 16, kZero = 4, kMaxWord = 7;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block + 108);
    uint64_t scales[2];
    unpack_scales(block + 96, scales[0], scales[1]);
    for (int i = 0; i < 256; ++i) {
      const int low = block[32 + 32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
      const int high = (block[i % 32] >> i / 32 & 1) << 2;
      const float scale = d * static_cast<float>(static_cast<int>(scales[i / 128] >> i / 16 % 8 * 8 & 63) - 32);
      out[i] = scale * static_cast<float>((low | high) - 4);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const Bytes low = load_bytes(block + 32 + 32 * (chunk % 8 / 4));
    return move_bits(low, static_cast<int>(2 * (chunk % 4)), 0, 3) |
           move_bits(load_bytes(block), static_cast<int>(chunk % 8), 2, 4);
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    uint64_t first, second;
    unpack_scales(block + 96, first, second);
    uint8_t ordered[sizeof(Bytes)];
    store(ordered, order_halves(from_words(first, second, first, second)));
    const F32 d = splat(read_f16(block + 108));
    for (int g = 0; g < 2; ++g) f.scale[g] = d * (load_u8(ordered + 8 * g) - splat(32.0f));
  }

 private:
  // The s of units 0 to 7 and of units 8 to 15, a byte each.
  LANE_INLINE static void unpack_scales(const uint8_t* p, uint64_t& first, uint64_t& second) {
    const uint64_t low = read_le<uint64_t>(p), high = read_le<uint32_t>(p + 8);
    const uint64_t both = high | high << 30;  // four units' bits 0 and 1, the next four's in the upper half
    first = (low & 0x0f0f0f0f0f0f0f0fu) | (both << 4 & 0x3030303030303030u);
    second = (low >> 4 & 0x0f0f0f0f0f0f0f0fu) | (both & 0x3030303030303030u);
  }
};

}  // namespace lane::cpu::LANE_ISA
