// F32, F16, BF16: plain values, one a block.
#pragma once

#include "cpp/cpu/quants/block.h"

namespace lane::cpu::LANE_ISA {

struct PlainF32 {
  static constexpr const char* kName = "F32";
  static constexpr int kTypeId = 0, kBlockElems = 1, kBlockBytes = 4;
  LANE_INLINE static F32 load(const uint8_t* p) { return LANE_ISA::load(reinterpret_cast<const float*>(p)); }
  LANE_INLINE static float decode_one(const uint8_t* p) { return read_le<float>(p); }
};

struct PlainF16 {
  static constexpr const char* kName = "F16";
  static constexpr int kTypeId = 1, kBlockElems = 1, kBlockBytes = 2;
  LANE_INLINE static F32 load(const uint8_t* p) { return load_f16(p); }
  LANE_INLINE static float decode_one(const uint8_t* p) { return read_f16(p); }
};

struct PlainBf16 {
  static constexpr const char* kName = "BF16";
  static constexpr int kTypeId = 30, kBlockElems = 1, kBlockBytes = 2;
  LANE_INLINE static F32 load(const uint8_t* p) { return load_bf16(p); }
  LANE_INLINE static float decode_one(const uint8_t* p) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(read_le<uint16_t>(p)) << 16);
  }
};

}  // namespace lane::cpu::LANE_ISA
