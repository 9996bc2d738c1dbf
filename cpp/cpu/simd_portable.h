// The SIMD layer in plain C++: the meaning of every operation, for machines without a wider instruction set. Slow on
// purpose where that keeps it plain; fma is the one-rounding fma even where the machine has none.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace lane::cpu::LANE_ISA {

struct F32 {
  float v[8];
};
struct I32 {
  std::int32_t v[8];
};
struct Bytes {
  std::uint8_t v[32];
};
struct F64 {
  double v[8];
};

#define LANE_EACH(type, expression)                \
  type r;                                          \
  for (int i = 0; i < 8; ++i) r.v[i] = expression; \
  return r

// --- f32 ---
LANE_INLINE F32 splat(float x) { LANE_EACH(F32, x); }
LANE_INLINE F32 load(const float* p) { LANE_EACH(F32, p[i]); }
LANE_INLINE void store(float* p, F32 x) { std::memcpy(p, x.v, sizeof x.v); }
// The first `count` lanes (fewer than 8); the rest are zero.
LANE_INLINE F32 load_part(const float* p, std::int64_t count) { LANE_EACH(F32, i < count ? p[i] : 0.0f); }
// The first four lanes.
LANE_INLINE void store_4(float* p, F32 x) { std::memcpy(p, x.v, 4 * sizeof(float)); }
// The first `count` lanes.
LANE_INLINE void store_part(float* p, F32 x, std::int64_t count) {
  for (int i = 0; i < count; ++i) p[i] = x.v[i];
}
// Four values, twice.
LANE_INLINE F32 load_twice(const float* p) { LANE_EACH(F32, p[i % 4]); }
LANE_INLINE F32 operator+(F32 a, F32 b) { LANE_EACH(F32, a.v[i] + b.v[i]); }
LANE_INLINE F32 operator-(F32 a, F32 b) { LANE_EACH(F32, a.v[i] - b.v[i]); }
LANE_INLINE F32 operator*(F32 a, F32 b) { LANE_EACH(F32, a.v[i] * b.v[i]); }
LANE_INLINE F32 operator/(F32 a, F32 b) { LANE_EACH(F32, a.v[i] / b.v[i]); }
LANE_INLINE F32 fma(F32 a, F32 b, F32 c) { LANE_EACH(F32, std::fma(a.v[i], b.v[i], c.v[i])); }
LANE_INLINE F32 min(F32 a, F32 b) { LANE_EACH(F32, a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
LANE_INLINE F32 max(F32 a, F32 b) { LANE_EACH(F32, a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
LANE_INLINE F32 abs(F32 a) { LANE_EACH(F32, std::fabs(a.v[i])); }
LANE_INLINE F32 round(F32 a) { LANE_EACH(F32, std::nearbyint(a.v[i])); }
// a < b ? x : y, lane by lane.
LANE_INLINE F32 select_less(F32 a, F32 b, F32 x, F32 y) { LANE_EACH(F32, a.v[i] < b.v[i] ? x.v[i] : y.v[i]); }
// 2^n for integral n in -126..127; anything for a NaN.
LANE_INLINE F32 power_of_two(F32 n) {
  LANE_EACH(F32, std::bit_cast<float>(static_cast<std::uint32_t>(n.v[i] == n.v[i] ? n.v[i] + 127.0f : 0.0f) << 23));
}
LANE_INLINE float f16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) {  // infinite, or a NaN made quiet
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13 | (rest > 0x7c00u ? 0x400000u : 0u));
  }
  if (rest < 0x400u) {  // subnormal: a multiple of 2^-24, exact in f32
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(rest) * 0x1p-24f) | sign);
  }
  return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
}
// Eight f16 or bf16 values.
LANE_INLINE F32 load_f16(const void* p) {
  std::uint16_t h[8];
  std::memcpy(h, p, sizeof h);
  LANE_EACH(F32, f16_value(h[i]));
}
// Eight pairs of f16 values, apart.
LANE_INLINE void load_f16_pairs(const std::uint32_t (&pairs)[8], F32& first, F32& second) {
  for (int i = 0; i < 8; ++i) {
    first.v[i] = f16_value(static_cast<std::uint16_t>(pairs[i]));
    second.v[i] = f16_value(static_cast<std::uint16_t>(pairs[i] >> 16));
  }
}
LANE_INLINE F32 load_bf16(const void* p) {
  std::uint16_t h[8];
  std::memcpy(h, p, sizeof h);
  LANE_EACH(F32, std::bit_cast<float>(static_cast<std::uint32_t>(h[i]) << 16));
}

// --- i32 ---
LANE_INLINE I32 splat(std::int32_t x) { LANE_EACH(I32, x); }
LANE_INLINE I32 load(const std::int32_t* p) { LANE_EACH(I32, p[i]); }
LANE_INLINE void store(std::int32_t* p, I32 x) { std::memcpy(p, x.v, sizeof x.v); }
LANE_INLINE I32 operator+(I32 a, I32 b) { LANE_EACH(I32, a.v[i] + b.v[i]); }
LANE_INLINE I32 operator-(I32 a, I32 b) { LANE_EACH(I32, a.v[i] - b.v[i]); }
LANE_INLINE I32 operator*(I32 a, I32 b) { LANE_EACH(I32, a.v[i] * b.v[i]); }
LANE_INLINE I32 operator&(I32 a, I32 b) { LANE_EACH(I32, a.v[i] & b.v[i]); }
LANE_INLINE I32 max(I32 a, I32 b) { LANE_EACH(I32, a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
// Eight unsigned numbers of 8 or 16 bits.
LANE_INLINE I32 widen_u8(const void* p) { LANE_EACH(I32, static_cast<const std::uint8_t*>(p)[i]); }
LANE_INLINE I32 widen_u16(const void* p) {
  std::uint16_t h[8];
  std::memcpy(h, p, sizeof h);
  LANE_EACH(I32, h[i]);
}
// Every lane shifted, bits that leave it dropped.
template <int kCount>
LANE_INLINE I32 shift_left(I32 a) {
  LANE_EACH(I32, static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) << kCount));
}
template <int kCount>
LANE_INLINE I32 shift_right(I32 a) {
  LANE_EACH(I32, static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) >> kCount));
}
LANE_INLINE F32 to_f32(I32 a) { LANE_EACH(F32, static_cast<float>(a.v[i])); }
// Eight signed or unsigned bytes.
LANE_INLINE F32 load_i8(const void* p) { LANE_EACH(F32, static_cast<float>(static_cast<const std::int8_t*>(p)[i])); }
LANE_INLINE F32 load_u8(const void* p) { LANE_EACH(F32, static_cast<float>(static_cast<const std::uint8_t*>(p)[i])); }

template <class V>
LANE_INLINE V fold_halves_of(V a, V b, V c, V d) {
  const V* all[] = {&a, &b, &c, &d};
  V r;
  for (int i = 0; i < 8; ++i) {
    const auto* v = all[i % 4]->v + i / 4 * 4;
    r.v[i] = (v[0] + v[2]) + (v[1] + v[3]);
  }
  return r;
}
template <class V>
LANE_INLINE V half_sums_of(V a, V b) {
  V r;
  for (int i = 0; i < 4; ++i) {
    r.v[i] = a.v[i] + a.v[i + 4];
    r.v[i + 4] = b.v[i] + b.v[i + 4];
  }
  return r;
}
// Within each half, the sums of four vectors' lanes: [a b c d | a b c d], each (0 + 2) + (1 + 3).
LANE_INLINE I32 fold_halves(I32 a, I32 b, I32 c, I32 d) { return fold_halves_of(a, b, c, d); }
LANE_INLINE F32 fold_halves(F32 a, F32 b, F32 c, F32 d) { return fold_halves_of(a, b, c, d); }
// [lower halves added to upper halves]: [a0+a4 .. a3+a7 b0+b4 .. b3+b7].
LANE_INLINE I32 half_sums(I32 a, I32 b) { return half_sums_of(a, b); }
LANE_INLINE F32 half_sums(F32 a, F32 b) { return half_sums_of(a, b); }

// An 8 × 8 transposition in place.
LANE_INLINE void transpose(I32 (&r)[8]) {
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < i; ++j) {
      const std::int32_t swapped = r[i].v[j];
      r[i].v[j] = r[j].v[i];
      r[j].v[i] = swapped;
    }
  }
}
LANE_INLINE I32 bits(F32 x) { return std::bit_cast<I32>(x); }
LANE_INLINE F32 from_bits(I32 x) { return std::bit_cast<F32>(x); }
LANE_INLINE I32 from_bytes(Bytes x) { return std::bit_cast<I32>(x); }
LANE_INLINE Bytes bytes_of(I32 x) { return std::bit_cast<Bytes>(x); }
// The odd-numbered lanes of a, then of b.
LANE_INLINE I32 odd_lanes(I32 a, I32 b) { LANE_EACH(I32, i < 4 ? a.v[2 * i + 1] : b.v[2 * i - 7]); }
LANE_INLINE std::int32_t max_lane(I32 a) {
  std::int32_t m = a.v[0];
  for (int i = 1; i < 8; ++i) m = a.v[i] > m ? a.v[i] : m;
  return m;
}

// --- bytes ---
#undef LANE_EACH
#define LANE_EACH(expression)                                                  \
  Bytes r;                                                                     \
  for (int i = 0; i < 32; ++i) r.v[i] = static_cast<std::uint8_t>(expression); \
  return r

// 32 values, rounded to nearest even, as signed bytes; every value within -127..127.
LANE_INLINE Bytes to_bytes(F32 a, F32 b, F32 c, F32 d) {
  const float* quarter[] = {a.v, b.v, c.v, d.v};
  LANE_EACH(static_cast<std::int8_t>(std::nearbyint(quarter[i / 8][i % 8])));
}
LANE_INLINE Bytes load_bytes(const void* p) {
  Bytes r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
LANE_INLINE void store(void* p, Bytes x) { std::memcpy(p, x.v, sizeof x.v); }
LANE_INLINE Bytes splat_byte(int x) { LANE_EACH(x); }
LANE_INLINE Bytes load_16_twice(const void* p) { LANE_EACH(static_cast<const std::uint8_t*>(p)[i % 16]); }
// 16 bytes as 32 nibbles: all low ones, then all high ones.
LANE_INLINE Bytes load_nibbles(const void* p) {
  const auto* source = static_cast<const std::uint8_t*>(p);
  LANE_EACH(i < 16 ? source[i] & 15 : source[i - 16] >> 4);
}
// 16 bytes as 32 nibbles: of each eight bytes the low ones, then the high ones.
LANE_INLINE Bytes load_nibbles_by_8(const void* p) {
  const auto* source = static_cast<const std::uint8_t*>(p);
  LANE_EACH(source[i / 16 * 8 + i % 8] >> (i % 16 < 8 ? 0 : 4) & 15);
}
// 32 bits as 32 bytes of 0 or 255, bit i to byte i.
LANE_INLINE Bytes spread_bits(std::uint32_t mask) { LANE_EACH(mask >> i & 1u ? 255 : 0); }
LANE_INLINE Bytes from_words(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  const std::uint64_t words[] = {a, b, c, d};
  return load_bytes(words);
}
LANE_INLINE Bytes from_words(const std::uint32_t (&words)[8]) { return load_bytes(words); }
LANE_INLINE Bytes operator&(Bytes a, Bytes b) { LANE_EACH(a.v[i] & b.v[i]); }
LANE_INLINE Bytes operator|(Bytes a, Bytes b) { LANE_EACH(a.v[i] | b.v[i]); }
LANE_INLINE Bytes operator^(Bytes a, Bytes b) { LANE_EACH(a.v[i] ^ b.v[i]); }
LANE_INLINE Bytes operator+(Bytes a, Bytes b) { LANE_EACH(a.v[i] + b.v[i]); }
LANE_INLINE Bytes operator-(Bytes a, Bytes b) { LANE_EACH(a.v[i] - b.v[i]); }
// Every byte shifted, bits that leave it dropped.
template <int kCount>
LANE_INLINE Bytes shift_right(Bytes a) {
  LANE_EACH(a.v[i] >> kCount);
}
template <int kCount>
LANE_INLINE Bytes shift_left(Bytes a) {
  LANE_EACH(a.v[i] << kCount);
}
// Bit `from` of every byte moved to bit `to`, its neighbours with it, and the bits of `mask` kept. These must come from
// the same byte.
LANE_INLINE Bytes move_bits(Bytes a, int from, int to, int mask) { LANE_EACH((a.v[i] << to >> from) & mask); }
// 255 where an unsigned byte is at least `bound`, else 0.
LANE_INLINE Bytes at_least(Bytes a, int bound) { LANE_EACH(a.v[i] >= bound ? 255 : 0); }
// table[index], 16 entries (which the table's halves both hold), index bytes below 16.
LANE_INLINE Bytes look_up(Bytes table, Bytes index) { LANE_EACH(table.v[index.v[i]]); }
// The odd-numbered bytes of a, then of b.
LANE_INLINE Bytes odd_bytes(Bytes a, Bytes b) { LANE_EACH(i < 16 ? a.v[2 * i + 1] : b.v[2 * i - 31]); }
// 64 bytes: those of a and of b in turn.
LANE_INLINE void store_zipped(void* p, Bytes a, Bytes b) {
  auto* out = static_cast<std::uint8_t*>(p);
  for (int i = 0; i < 32; ++i) {
    out[2 * i] = a.v[i];
    out[2 * i + 1] = b.v[i];
  }
}
#undef LANE_EACH

// --- products of bytes ---
inline constexpr bool kAnyWord = true;  // unsigned words up to 255 are multiplied exactly
// Sums of products, before they are widened: as wide as they get.
struct Sums {
  std::int32_t v[8];
};
LANE_INLINE Sums no_sums() { return {}; }
LANE_INLINE Sums add_products(Sums s, Bytes words, Bytes x) {
  for (int i = 0; i < 8; ++i) {
    for (int j = 4 * i; j < 4 * i + 4; ++j) s.v[i] += words.v[j] * static_cast<std::int8_t>(x.v[j]);
  }
  return s;
}
LANE_INLINE I32 widen(Sums s) { return std::bit_cast<I32>(s); }
LANE_INLINE Sums fold_halves(Sums a, Sums b, Sums c, Sums d) { return fold_halves_of(a, b, c, d); }
LANE_INLINE I32 dot4(Bytes words, Bytes x) { return widen(add_products(no_sums(), words, x)); }
LANE_INLINE Bytes magnitude(Bytes w) {
  Bytes r;
  for (int i = 0; i < 32; ++i) r.v[i] = static_cast<std::uint8_t>(w.v[i] & 0x80 ? -w.v[i] : w.v[i]);
  return r;
}
// Signed words; x is within -127..127.
LANE_INLINE I32 dot4_signed(Bytes, Bytes w, Bytes x) {
  I32 r = splat(0);
  for (int i = 0; i < 32; ++i) r.v[i / 4] += static_cast<std::int8_t>(w.v[i]) * static_cast<std::int8_t>(x.v[i]);
  return r;
}
// Four bytes of x, eight times.
LANE_INLINE Bytes splat_4(const void* p) {
  Bytes r;
  for (int i = 0; i < 32; i += 4) std::memcpy(r.v + i, p, 4);
  return r;
}

// --- f64 ---
#define LANE_EACH(expression)                      \
  F64 r;                                           \
  for (int i = 0; i < 8; ++i) r.v[i] = expression; \
  return r
LANE_INLINE F64 splat(double x) { LANE_EACH(x); }
LANE_INLINE F64 load_f64(const double* p) { LANE_EACH(p[i]); }
LANE_INLINE F64 zero_f64() { return splat(0.0); }
LANE_INLINE F64 to_f64(F32 x) { LANE_EACH(static_cast<double>(x.v[i])); }
LANE_INLINE F64 fma(F64 a, F64 b, F64 c) { LANE_EACH(std::fma(a.v[i], b.v[i], c.v[i])); }
LANE_INLINE F64 operator+(F64 a, F64 b) { LANE_EACH(a.v[i] + b.v[i]); }
LANE_INLINE F64 operator-(F64 a, F64 b) { LANE_EACH(a.v[i] - b.v[i]); }
LANE_INLINE void store(double* p, F64 x) { std::memcpy(p, x.v, sizeof x.v); }
#undef LANE_EACH

}  // namespace lane::cpu::LANE_ISA
