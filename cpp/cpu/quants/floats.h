// F32, F16, BF16: plain values, one a block.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct PlainF32 : Block<tables::kF32> {
  LANE_INLINE static F32 load(const uint8_t* p) { return read_le<F32>(p); }
  LANE_INLINE static float decode_one(const uint8_t* p) { return read_le<float>(p); }
};

struct PlainF16 : Block<tables::kF16> {
  LANE_INLINE static F32 load(const uint8_t* p) { return load_f16(p); }
  LANE_INLINE static float decode_one(const uint8_t* p) { return read_f16(p); }
};

struct PlainBf16 : Block<tables::kBF16> {
  LANE_INLINE static F32 load(const uint8_t* p) { return load_bf16(p); }
  LANE_INLINE static float decode_one(const uint8_t* p) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(read_le<uint16_t>(p)) << 16);
  }
};

}  // namespace lane::cpu::LANE_ISA
