// The thin SIMD layer that every kernel is written against: vectors of 8 lanes, compiled once an instruction set.
//
// In: LANE_ISA, the name of the instruction set, defined by the one .cc that compiles the kernels for it. Out: the
// types F32, I32, F64 and Bytes and their operations in namespace lane::cpu::LANE_ISA. Promise: each operation gives
// the same bits on every instruction set (fma rounds once, min and max take their second operand when one is a NaN),
// so that kernels written in these alone do too.
//
// Everything under LANE_ISA lives in that namespace, templates included: a function that one file compiles for a wide
// instruction set must never be what another file's call is linked to. For the same reason kernels call no
// standard templates with state or loops of their own.
#pragma once

#include <cstdint>

#ifndef LANE_ISA
#error "LANE_ISA names the instruction set; only the kernels_*.cc files include this header"
#endif

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define LANE_INLINE inline __attribute__((always_inline))
#define LANE_UNROLL _Pragma("GCC unroll 8")
#include "cpp/cpu/simd_x86.h"
#else
// Vectors live in memory here: forcing functions or a loop's rounds together only makes the code large.
#define LANE_INLINE inline
#define LANE_UNROLL
#include "cpp/cpu/simd_portable.h"
#endif

namespace lane::cpu::LANE_ISA {

inline constexpr int kLanes = 8;

// How many products of words up to max_word one lane of Sums can add, a power of two no greater than `most`.
constexpr int sums_limit(int max_word, int most) {
  if (kAnyWord) return most;
  int count = 1;
  while (2 * count <= most && 2 * count * (2 * 127 * max_word) <= 32767) count *= 2;
  return count;
}

LANE_INLINE I32 widen(I32 sums) { return sums; }

// A vector's lanes added in the one order that every kernel uses: ((0+2)+(1+3)) + ((4+6)+(5+7)).
LANE_INLINE double fold(F64 x) {
  double v[kLanes];
  store(v, x);
  return ((v[0] + v[2]) + (v[1] + v[3])) + ((v[4] + v[6]) + (v[5] + v[7]));
}
LANE_INLINE float fold(F32 x) {
  float v[kLanes];
  store(v, x);
  return ((v[0] + v[2]) + (v[1] + v[3])) + ((v[4] + v[6]) + (v[5] + v[7]));
}

}  // namespace lane::cpu::LANE_ISA
