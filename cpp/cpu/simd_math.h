// Transcendental functions on f32 lanes, written in the SIMD layer's operations alone and so alike on every
// instruction set. Relative error below 2e-7 wherever the result is a normal number.
//
// The coefficients are minimax fits made for this file (weighted least squares, iterated): of (e^r - 1 - r) / r² on
// |r| <= ln 2 / 2, and of (tanh x - x) / x³ in x² on |x| <= 5/8.
#pragma once

#include "cpp/cpu/simd.h"

namespace lane::cpu::LANE_ISA {

// e^x: with n = round(x / ln 2), 2^n · e^(x - n ln 2). 2^n is multiplied in two steps so that results below the least
// normal number and above the greatest come out as they should.
LANE_INLINE F32 exp(F32 x) {
  const F32 bounded = max(splat(-110.0f), min(splat(95.0f), x));
  const F32 n = round(bounded * splat(0x1.715476p+0f));
  F32 r = fma(n, splat(-0x1.62e400p-1f), bounded);  // ln 2 in two parts, the first with few bits: n · it is exact
  r = fma(n, splat(-0x1.7f7d1cp-20f), r);
  F32 p = splat(0x1.6a2434p-10f);
  p = fma(p, r, splat(0x1.1239e2p-7f));
  p = fma(p, r, splat(0x1.5558f2p-5f));
  p = fma(p, r, splat(0x1.555492p-3f));
  p = fma(p, r, splat(0x1.fffffcp-2f));
  p = fma(p, r * r, r) + splat(1.0f);
  const F32 half = round(n * splat(0.5f));
  return p * power_of_two(half) * power_of_two(n - half);
}

// y / (1 + e^-x): from e^-|x|, which overflows for neither sign.
LANE_INLINE F32 times_sigmoid(F32 y, F32 x) {
  const F32 zero = splat(0.0f), one = splat(1.0f), e = exp(zero - abs(x));
  return y * select_less(x, zero, e, one) / (one + e);
}

LANE_INLINE F32 sigmoid(F32 x) { return times_sigmoid(splat(1.0f), x); }

LANE_INLINE F32 silu(F32 x) { return times_sigmoid(x, x); }

// x / 2 · (1 + tanh u) = x · sigmoid(2u), u = sqrt(2/π) · (x + 0.044715 x³)
LANE_INLINE F32 gelu(F32 x) {
  const F32 cubic = fma(x * x, x * splat(0.044715f), x);
  return times_sigmoid(x, cubic * splat(1.5957691216057308f));
}

// A polynomial near zero, where 1 - 2 / (e^2x + 1) would cancel.
LANE_INLINE F32 tanh(F32 x) {
  const F32 z = x * x;
  F32 p = splat(-0.005717042367905378f);
  p = fma(p, z, splat(0.020650584250688553f));
  p = fma(p, z, splat(-0.05374349653720856f));
  p = fma(p, z, splat(0.13331490755081177f));
  p = fma(p, z, splat(-0.3333328366279602f));
  const F32 small = fma(p * z, x, x);
  const F32 large = splat(1.0f) - splat(2.0f) / (exp(x + x) + splat(1.0f));
  return select_less(abs(x), splat(0.625f), small, large);
}

}  // namespace lane::cpu::LANE_ISA
