// TQ1_0: 256 values d·(t - 1), t a digit of base 3: 52 bytes of five digits each, an f16 d. A byte is a fraction in
// 256ths whose digits come off the top, times 3, one by one. Digit p of the first 32 bytes is values 32·p to 32·p + 31;
// of the next 16, values 160 + 16·p to 175 + 16·p; of the last 4 (four digits only), values 240 + 4·p to 243 + 4·p.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct TQ1_0 : Block<tables::kTQ1_0> {
  static constexpr int kUnit = 32, kZero = 1, kMaxWord = 2;
  static constexpr bool kSigned = false, kMinimum = false;

  static void decode(const uint8_t* block, float* out) {
    const float d = read_f16(block + 52);
    for (int i = 0; i < 256; ++i) {
      int digit = 0;
      if (i < 160) {
        digit = digit_of(block[i % 32], i / 32);
      } else if (i < 240) {
        digit = digit_of(block[32 + i % 16], (i - 160) / 16);
      } else {
        digit = digit_of(block[48 + i % 4], (i - 240) / 4);
      }
      out[i] = d * static_cast<float>(digit - 1);
    }
  }

  LANE_INLINE static Bytes words(const uint8_t* row, int64_t chunk) {
    const uint8_t* block = row + chunk / 8 * kBlockBytes;
    const int part = static_cast<int>(chunk % 8);
    return top_digits(part < 5 ? raised(load_bytes(block), part) : part < 7 ? narrow_pair(block, part) : tail(block));
  }

  LANE_INLINE static void factors(const uint8_t* row, int64_t chunk, int, Factors<kUnit>& f) {
    f.scale[0] = splat(read_f16(row + chunk / 8 * kBlockBytes + 52));
  }

 private:
  static int digit_of(int byte, int place) {
    for (int p = 0; p < place; ++p) byte = byte * 3 & 255;
    return byte * 3 >> 8;
  }

  // Every byte times 3^places: the digits before leave at the top.
  LANE_INLINE static Bytes raised(Bytes x, int places) {
#pragma GCC unroll 4
    for (int p = 0; p < places; ++p) x = x + x + x;
    return x;
  }
  LANE_INLINE static uint32_t raised_by_one(uint32_t four) {
    const uint32_t even = (four & 0x00ff00ffu) * 3, odd = (four >> 8 & 0x00ff00ffu) * 3;
    return (even & 0x00ff00ffu) | (odd & 0x00ff00ffu) << 8;
  }
  // The digit that is next to leave: how many of 256/3 and 512/3 are below the byte.
  LANE_INLINE static Bytes top_digits(Bytes x) { return splat_byte(0) - (at_least(x, 86) + at_least(x, 171)); }

  // Two digits of the 16 bytes: chunk 5 has the first and the second, chunk 6 the next two.
  LANE_INLINE static Bytes narrow_pair(const uint8_t* block, int part) {
    const Bytes first = raised(load_16_twice(block + 32), 2 * (part - 5)), upper = from_words(0, 0, ~0ull, ~0ull);
    return first + ((first + first) & upper);
  }
  // Their last digit, then the four of the last 4 bytes.
  LANE_INLINE static Bytes tail(const uint8_t* block) {
    const Bytes last = raised(from_words(read_le<uint64_t>(block + 32), read_le<uint64_t>(block + 40), 0, 0), 4);
    const uint32_t p0 = read_le<uint32_t>(block + 48), p1 = raised_by_one(p0), p2 = raised_by_one(p1);
    const uint64_t low = p0 | static_cast<uint64_t>(p1) << 32;
    const uint64_t high = p2 | static_cast<uint64_t>(raised_by_one(p2)) << 32;
    return last | from_words(0, 0, low, high);
  }
};

}  // namespace lane::cpu::LANE_ISA
