// IQ3_S: 256 values in 8 units of 32, value = (d·(1 + 2·s))·±grid: an f16 d, 64 low bytes of indices of vectors of
// four, 8 bytes of their ninth bits, 32 masks of eight signs, 4 bytes of two s each.
#pragma once

#include "cpp/cpu/quants/grids.h"

namespace lane::cpu::LANE_ISA {

struct IQ3_S : Block<tables::kIQ3_S> {
  static constexpr int kUnit = 32, kZero = greatest_entry(tables::kIq3SGrid), kMaxWord = 2 * kZero;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block);
    for (int v = 0; v < 64; ++v) {
      const int index = block[2 + v] | (block[66 + v / 8] >> v % 8 & 1) << 8;
      const int s = block[106 + v / 16] >> v % 16 / 8 * 4 & 15;
      const uint32_t minus = block[74 + v / 2] >> v % 2 * 4;
      decode_signed(tables::kIq3SGrid[index], 4, minus, d * static_cast<float>(1 + 2 * s), out + 4 * v);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int64_t c = chunk % 8;
    uint16_t index[32];  // of four chunks
    const Bytes ninth = spread_bits(read_le<uint32_t>(block + 66 + c / 4 * 4)) & splat_byte(1);
    store_zipped(index, load_bytes(block + 2 + c / 4 * 32), ninth);
    return signed_words<kZero>(grid_chunk(tables::kIq3SGrid, [&](int v) { return index[c % 4 * 8 + v]; }),
                               read_le<uint32_t>(block + 74 + 4 * c));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const uint64_t scales = 2 * spread_nibbles(read_le<uint32_t>(block + 106)) + 0x0101010101010101u;
    f.scale[0] = splat(read_f16(block)) * load_u8(&scales);
  }
};

}  // namespace lane::cpu::LANE_ISA
