// The SIMD layer on AVX2 with FMA and F16C and, where the compiler may use it, AVX-512 VNNI on the same 256-bit
// vectors: only the byte products differ, and those are exact integers either way.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace lane::cpu::LANE_ISA {

struct F32 {
  __m256 v;
};
struct I32 {
  __m256i v;
};
struct Bytes {
  __m256i v;
};
struct F64 {
  __m256d lo, hi;
};

// --- f32 ---
LANE_INLINE F32 splat(float x) { return {_mm256_set1_ps(x)}; }
LANE_INLINE F32 load(const float* p) { return {_mm256_loadu_ps(p)}; }
LANE_INLINE void store(float* p, F32 x) { _mm256_storeu_ps(p, x.v); }
LANE_INLINE __m256i first_lanes(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// The first `count` lanes (fewer than 8); the rest are zero.
LANE_INLINE F32 load_part(const float* p, std::int64_t count) { return {_mm256_maskload_ps(p, first_lanes(count))}; }
// The first four lanes.
LANE_INLINE void store_4(float* p, F32 x) { _mm_storeu_ps(p, _mm256_castps256_ps128(x.v)); }
// The first `count` lanes; not a masked store, which some processors take a hundred times as long over.
LANE_INLINE void store_part(float* p, F32 x, std::int64_t count) {
  float lanes[8];
  store(lanes, x);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}
// Four values, twice.
LANE_INLINE F32 load_twice(const float* p) { return {_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p))}; }
LANE_INLINE F32 operator+(F32 a, F32 b) { return {_mm256_add_ps(a.v, b.v)}; }
LANE_INLINE F32 operator-(F32 a, F32 b) { return {_mm256_sub_ps(a.v, b.v)}; }
LANE_INLINE F32 operator*(F32 a, F32 b) { return {_mm256_mul_ps(a.v, b.v)}; }
LANE_INLINE F32 operator/(F32 a, F32 b) { return {_mm256_div_ps(a.v, b.v)}; }
LANE_INLINE F32 fma(F32 a, F32 b, F32 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
LANE_INLINE F32 min(F32 a, F32 b) { return {_mm256_min_ps(a.v, b.v)}; }
LANE_INLINE F32 max(F32 a, F32 b) { return {_mm256_max_ps(a.v, b.v)}; }
LANE_INLINE F32 abs(F32 a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
LANE_INLINE F32 round(F32 a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
// a < b ? x : y, lane by lane.
LANE_INLINE F32 select_less(F32 a, F32 b, F32 x, F32 y) {
  return {_mm256_blendv_ps(y.v, x.v, _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ))};
}
// 2^n for integral n in -126..127.
LANE_INLINE F32 power_of_two(F32 n) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(biased, 23))};
}
// Eight f16 or bf16 values.
LANE_INLINE F32 load_f16(const void* p) { return {_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)))}; }
LANE_INLINE F32 load_bf16(const void* p) {
  // Each half takes its four as the upper two bytes of a lane: one instruction, where widening and shifting are two.
  const __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  const __m256i order = _mm256_setr_epi8(-1, -1, 0, 1, -1, -1, 2, 3, -1, -1, 4, 5, -1, -1, 6, 7,  //
                                         -1, -1, 8, 9, -1, -1, 10, 11, -1, -1, 12, 13, -1, -1, 14, 15);
  return {_mm256_castsi256_ps(_mm256_shuffle_epi8(twice, order))};
}
// Eight pairs of f16 values, apart.
LANE_INLINE void load_f16_pairs(const std::uint32_t (&pairs)[8], F32& first, F32& second) {
  const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pairs));
  const __m256i low = _mm256_and_si256(both, _mm256_set1_epi32(0xffff)), high = _mm256_srli_epi32(both, 16);
  const __m256i apart = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
  first.v = _mm256_cvtph_ps(_mm256_castsi256_si128(apart));
  second.v = _mm256_cvtph_ps(_mm256_extracti128_si256(apart, 1));
}
LANE_INLINE float f16_value(std::uint16_t bits) { return _cvtsh_ss(bits); }

// --- i32 ---
LANE_INLINE I32 splat(std::int32_t x) { return {_mm256_set1_epi32(x)}; }
LANE_INLINE I32 load(const std::int32_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
LANE_INLINE void store(std::int32_t* p, I32 x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v); }
LANE_INLINE I32 operator+(I32 a, I32 b) { return {_mm256_add_epi32(a.v, b.v)}; }
LANE_INLINE I32 operator-(I32 a, I32 b) { return {_mm256_sub_epi32(a.v, b.v)}; }
LANE_INLINE I32 operator*(I32 a, I32 b) { return {_mm256_mullo_epi32(a.v, b.v)}; }
// Eight unsigned numbers of 8 or 16 bits.
LANE_INLINE I32 widen_u8(const void* p) {
  return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)))};
}
LANE_INLINE I32 widen_u16(const void* p) {
  return {_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)))};
}
// Every lane shifted, bits that leave it dropped.
template <int kCount>
LANE_INLINE I32 shift_left(I32 a) {
  return {_mm256_slli_epi32(a.v, kCount)};
}
template <int kCount>
LANE_INLINE I32 shift_right(I32 a) {
  return {_mm256_srli_epi32(a.v, kCount)};
}
LANE_INLINE F32 to_f32(I32 a) { return {_mm256_cvtepi32_ps(a.v)}; }
// Eight signed or unsigned bytes.
LANE_INLINE F32 load_i8(const void* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p))))};
}
LANE_INLINE F32 load_u8(const void* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p))))};
}

// Within each half, the sums of four vectors' lanes: [a b c d | a b c d], each (0 + 2) + (1 + 3).
LANE_INLINE I32 fold_halves(I32 a, I32 b, I32 c, I32 d) {
  const __m256i ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a.v, b.v), _mm256_unpackhi_epi32(a.v, b.v));
  const __m256i cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c.v, d.v), _mm256_unpackhi_epi32(c.v, d.v));
  return {_mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))};
}
LANE_INLINE F32 fold_halves(F32 a, F32 b, F32 c, F32 d) {
  const __m256d ab = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(a.v, b.v), _mm256_unpackhi_ps(a.v, b.v)));
  const __m256d cd = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(c.v, d.v), _mm256_unpackhi_ps(c.v, d.v)));
  return {_mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)), _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)))};
}
// [lower halves added to upper halves]: [a0+a4 .. a3+a7 b0+b4 .. b3+b7].
LANE_INLINE I32 half_sums(I32 a, I32 b) {
  return {_mm256_add_epi32(_mm256_permute2x128_si256(a.v, b.v, 0x20), _mm256_permute2x128_si256(a.v, b.v, 0x31))};
}
LANE_INLINE F32 half_sums(F32 a, F32 b) {
  return {_mm256_add_ps(_mm256_permute2f128_ps(a.v, b.v, 0x20), _mm256_permute2f128_ps(a.v, b.v, 0x31))};
}

// An 8 × 8 transposition in place.
LANE_INLINE void transpose(I32 (&r)[8]) {
  __m256i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi32(r[i].v, r[i + 1].v);
    a[i + 1] = _mm256_unpackhi_epi32(r[i].v, r[i + 1].v);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm256_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm256_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm256_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i].v = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    r[i + 4].v = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}
LANE_INLINE I32 bits(F32 x) { return {_mm256_castps_si256(x.v)}; }
LANE_INLINE F32 from_bits(I32 x) { return {_mm256_castsi256_ps(x.v)}; }
LANE_INLINE I32 from_bytes(Bytes x) { return {x.v}; }
LANE_INLINE Bytes bytes_of(I32 x) { return {x.v}; }
// The odd-numbered lanes of a, then of b.
LANE_INLINE I32 odd_lanes(I32 a, I32 b) {
  const __m256 mixed = _mm256_shuffle_ps(_mm256_castsi256_ps(a.v), _mm256_castsi256_ps(b.v), 0xdd);
  return {_mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8)};
}
LANE_INLINE I32 max(I32 a, I32 b) { return {_mm256_max_epi32(a.v, b.v)}; }
LANE_INLINE std::int32_t max_lane(I32 a) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}
LANE_INLINE I32 operator&(I32 a, I32 b) { return {_mm256_and_si256(a.v, b.v)}; }
// 32 values, rounded to nearest even, as signed bytes; every value within -127..127.
LANE_INLINE Bytes to_bytes(F32 a, F32 b, F32 c, F32 d) {
  const __m256i ab = _mm256_packs_epi32(_mm256_cvtps_epi32(a.v), _mm256_cvtps_epi32(b.v));
  const __m256i cd = _mm256_packs_epi32(_mm256_cvtps_epi32(c.v), _mm256_cvtps_epi32(d.v));
  const __m256i mixed = _mm256_packs_epi16(ab, cd);
  return {_mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))};
}

// --- bytes ---
LANE_INLINE Bytes load_bytes(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
LANE_INLINE void store(void* p, Bytes x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x.v); }
LANE_INLINE Bytes splat_byte(int x) { return {_mm256_set1_epi8(static_cast<char>(x))}; }
LANE_INLINE Bytes load_16_twice(const void* p) {
  return {_mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p)))};
}
// 16 bytes as 32 nibbles: all low ones, then all high ones.
LANE_INLINE Bytes load_nibbles(const void* p) {
  const __m256i both = load_16_twice(p).v;
  return {_mm256_and_si256(_mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4)), _mm256_set1_epi8(15))};
}
// 16 bytes as 32 nibbles: of each eight bytes the low ones, then the high ones.
LANE_INLINE Bytes load_nibbles_by_8(const void* p) {
  const __m256i twice = _mm256_permute4x64_epi64(load_16_twice(p).v, 0x50);
  return {_mm256_and_si256(_mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4)), _mm256_set1_epi8(15))};
}
// 32 bits as 32 bytes of 0 or 255, bit i to byte i.
LANE_INLINE Bytes spread_bits(std::uint32_t mask) {
  const __m256i source = _mm256_shuffle_epi8(
      _mm256_set1_epi32(static_cast<int>(mask)),
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  const __m256i select = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
  return {_mm256_cmpeq_epi8(_mm256_and_si256(source, select), select)};
}
LANE_INLINE Bytes from_words(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  return {_mm256_setr_epi64x(static_cast<long long>(a), static_cast<long long>(b), static_cast<long long>(c),
                             static_cast<long long>(d))};
}
LANE_INLINE Bytes from_words(const std::uint32_t (&w)[8]) {
  const auto word = [&w](int i) { return static_cast<int>(w[i]); };
  return {_mm256_setr_epi32(word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7))};
}
LANE_INLINE Bytes operator&(Bytes a, Bytes b) { return {_mm256_and_si256(a.v, b.v)}; }
LANE_INLINE Bytes operator|(Bytes a, Bytes b) { return {_mm256_or_si256(a.v, b.v)}; }
LANE_INLINE Bytes operator^(Bytes a, Bytes b) { return {_mm256_xor_si256(a.v, b.v)}; }
LANE_INLINE Bytes operator+(Bytes a, Bytes b) { return {_mm256_add_epi8(a.v, b.v)}; }
LANE_INLINE Bytes operator-(Bytes a, Bytes b) { return {_mm256_sub_epi8(a.v, b.v)}; }
// Every byte shifted, bits that leave it dropped.
template <int kCount>
LANE_INLINE Bytes shift_right(Bytes a) {
  return {_mm256_and_si256(_mm256_srli_epi16(a.v, kCount), _mm256_set1_epi8(static_cast<char>(0xff >> kCount)))};
}
template <int kCount>
LANE_INLINE Bytes shift_left(Bytes a) {
  return {_mm256_and_si256(_mm256_slli_epi16(a.v, kCount), _mm256_set1_epi8(static_cast<char>(0xff << kCount)))};
}
// Bit `from` of every byte moved to bit `to`, its neighbours with it, and the bits of `mask` kept. These must come from
// the same byte.
LANE_INLINE Bytes move_bits(Bytes a, int from, int to, int mask) {
  const __m256i moved = from > to ? _mm256_srli_epi16(a.v, from - to) : _mm256_slli_epi16(a.v, to - from);
  return {_mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(mask)))};
}
// 255 where an unsigned byte is at least `bound`, else 0.
LANE_INLINE Bytes at_least(Bytes a, int bound) {
  return {_mm256_cmpeq_epi8(_mm256_max_epu8(a.v, splat_byte(bound).v), a.v)};
}
// table[index], 16 entries (which the table's halves both hold), index bytes below 16.
LANE_INLINE Bytes look_up(Bytes table, Bytes index) { return {_mm256_shuffle_epi8(table.v, index.v)}; }
// The odd-numbered bytes of a, then of b.
LANE_INLINE Bytes odd_bytes(Bytes a, Bytes b) {
  const __m256i mixed = _mm256_packus_epi16(_mm256_srli_epi16(a.v, 8), _mm256_srli_epi16(b.v, 8));
  return {_mm256_permute4x64_epi64(mixed, 0xd8)};
}
// 64 bytes: those of a and of b in turn.
LANE_INLINE void store_zipped(void* p, Bytes a, Bytes b) {
  const __m256i low = _mm256_unpacklo_epi8(a.v, b.v), high = _mm256_unpackhi_epi8(a.v, b.v);
  auto* out = static_cast<__m256i*>(p);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(low, high, 0x31));
}

// --- products of bytes ---
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
inline constexpr bool kAnyWord = true;  // unsigned words up to 255 are multiplied exactly
LANE_INLINE I32 dot4(Bytes words, Bytes x) { return {_mm256_dpbusd_epi32(_mm256_setzero_si256(), words.v, x.v)}; }
// Sums of products, before they are widened: as wide as they get.
struct Sums {
  __m256i v;
};
LANE_INLINE Sums no_sums() { return {_mm256_setzero_si256()}; }
LANE_INLINE Sums add_products(Sums s, Bytes words, Bytes x) { return {_mm256_dpbusd_epi32(s.v, words.v, x.v)}; }
LANE_INLINE I32 widen(Sums s) { return {s.v}; }
LANE_INLINE Sums fold_halves(Sums a, Sums b, Sums c, Sums d) {
  return {fold_halves(I32{a.v}, I32{b.v}, I32{c.v}, I32{d.v}).v};
}
#else
inline constexpr bool kAnyWord = false;  // words above 128 would saturate the sum of two products
LANE_INLINE I32 dot4(Bytes words, Bytes x) {
  return {_mm256_madd_epi16(_mm256_maddubs_epi16(words.v, x.v), _mm256_set1_epi16(1))};
}
// Sums of products, before they are widened: in 16 bits.
struct Sums {
  __m256i v;
};
LANE_INLINE Sums no_sums() { return {_mm256_setzero_si256()}; }
LANE_INLINE Sums add_products(Sums s, Bytes words, Bytes x) {
  return {_mm256_add_epi16(s.v, _mm256_maddubs_epi16(words.v, x.v))};
}
LANE_INLINE I32 widen(Sums s) { return {_mm256_madd_epi16(s.v, _mm256_set1_epi16(1))}; }
LANE_INLINE Sums fold_halves(Sums a, Sums b, Sums c, Sums d) {
  const __m256i ab = _mm256_add_epi16(_mm256_unpacklo_epi32(a.v, b.v), _mm256_unpackhi_epi32(a.v, b.v));
  const __m256i cd = _mm256_add_epi16(_mm256_unpacklo_epi32(c.v, d.v), _mm256_unpackhi_epi32(c.v, d.v));
  return {_mm256_add_epi16(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))};
}
#endif
// Signed words: |w| · (x with w's sign). x is within -127..127, so the sum of two products fits 16 bits.
LANE_INLINE Bytes magnitude(Bytes w) { return {_mm256_abs_epi8(w.v)}; }
LANE_INLINE I32 dot4_signed(Bytes magnitudes, Bytes w, Bytes x) {
  return dot4(magnitudes, {_mm256_sign_epi8(x.v, w.v)});
}
// Four bytes of x, eight times.
LANE_INLINE Bytes splat_4(const void* p) {
  int x;
  __builtin_memcpy(&x, p, sizeof x);
  return {_mm256_set1_epi32(x)};
}

// --- f64 ---
LANE_INLINE F64 zero_f64() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
LANE_INLINE F64 to_f64(F32 x) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(x.v)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.v, 1))};
}
LANE_INLINE F64 fma(F64 a, F64 b, F64 c) {
  return {_mm256_fmadd_pd(a.lo, b.lo, c.lo), _mm256_fmadd_pd(a.hi, b.hi, c.hi)};
}
LANE_INLINE F64 operator+(F64 a, F64 b) { return {_mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi)}; }
LANE_INLINE F64 operator-(F64 a, F64 b) { return {_mm256_sub_pd(a.lo, b.lo), _mm256_sub_pd(a.hi, b.hi)}; }
LANE_INLINE F64 splat(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
LANE_INLINE F64 load_f64(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
LANE_INLINE void store(double* p, F64 x) {
  _mm256_storeu_pd(p, x.lo);
  _mm256_storeu_pd(p + 4, x.hi);
}

}  // namespace lane::cpu::LANE_ISA
