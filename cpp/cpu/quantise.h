// The quantiser of activations: f32 values to int8 words and one f32 scale per 32, bit for bit what the launch kinds'
// definition gives. Per block, with a = max |x|: scale = a / 127, words = round-half-even(x · (127 / a)), second words
// round-half-even((x - scale · word) · (127 / a · 254)) within -127..127.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

inline constexpr float kSecondSteps = spec::kSecondWordSteps;

// A block whose 127 / a is not finite (a below 2^-121), or that holds an infinity or a NaN: a word that is no number
// is 0. The scale then carries what the block was.
inline void quantise_odd_block(const float* x, float scale, float inverse, int8_t* words, int8_t* second) {
  for (int i = 0; i < kChunk; ++i) {
    const float word = __builtin_nearbyintf(x[i] * inverse);
    words[i] = __builtin_isfinite(word) ? static_cast<int8_t>(word) : 0;
    if (second == nullptr) continue;
    const float rest = x[i] - static_cast<float>(words[i]) * scale;
    const float steps = __builtin_nearbyintf(rest * (inverse * kSecondSteps));
    second[i] = steps != steps ? 0 : static_cast<int8_t>(steps > 127.0f ? 127.0f : steps < -127.0f ? -127.0f : steps);
  }
}

LANE_INLINE float quantise_block(const float* x, int8_t* words, int8_t* second) {
  F32 v[4];
  I32 top = splat(0);
  for (int i = 0; i < 4; ++i) {
    v[i] = load(x + i * kLanes);
    // As integers the magnitudes order as they do as floats, infinity next and any NaN above all.
    top = max(top, bits(abs(v[i])));
  }
  const float a = __builtin_bit_cast(float, max_lane(top));
  const float scale = a / 127.0f;
  const float inverse = a > 0.0f ? 127.0f / a : 0.0f;
  if (!__builtin_isfinite(inverse * kSecondSteps) || !__builtin_isfinite(a)) {
    quantise_odd_block(x, scale, inverse, words, second);
    return scale;
  }
  F32 whole[4];
  for (int i = 0; i < 4; ++i) whole[i] = round(v[i] * splat(inverse));
  store(words, to_bytes(whole[0], whole[1], whole[2], whole[3]));
  if (second != nullptr) {
    const float steps = inverse * kSecondSteps;
    F32 rest[4];
    for (int i = 0; i < 4; ++i) {
      const F32 counted = round((v[i] - whole[i] * splat(scale)) * splat(steps));
      rest[i] = max(splat(-127.0f), min(splat(127.0f), counted));
    }
    store(second, to_bytes(rest[0], rest[1], rest[2], rest[3]));
  }
  return scale;
}

// n is a multiple of 32; `second` is null where there are no second words.
inline void quantise(const float* x, int64_t n, int8_t* words, int8_t* second, float* scales) {
  for (int64_t at = 0; at < n; at += kChunk) {
    scales[at / kChunk] = quantise_block(x + at, words + at, second == nullptr ? nullptr : second + at);
  }
}

}  // namespace lane::cpu::LANE_ISA
