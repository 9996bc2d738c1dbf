// The tables of kernels.h for the instruction set that this is compiled for.
#pragma once

#include "cpp/cpu/attention.h"
#include "cpp/cpu/float_product.h"
#include "cpp/cpu/int8_gemm.h"
#include "cpp/cpu/int8_gemv.h"
#include "cpp/cpu/kernels.h"
#include "cpp/cpu/quantise.h"
#include "cpp/cpu/quants/formats.h"
#include "cpp/cpu/row_kernels.h"

namespace lane::cpu::LANE_ISA {

template <class F>
void decode_blocks(const uint8_t* row, float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += F::kBlockElems, row += F::kBlockBytes) F::decode(row, out + i);
}

template <class F>
void decode_plain(const uint8_t* row, float* out, int64_t n) {
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) store(out + i, F::load(row + i * F::kBlockBytes));
  for (int64_t i = whole; i < n; ++i) out[i] = F::decode_one(row + i * F::kBlockBytes);
}

template <class F>
constexpr FormatKernels float_format() {
  FormatKernels f = {};
  f.name = F::kName;
  f.type_id = F::kTypeId;
  f.block_elems = F::kBlockElems;
  f.block_bytes = F::kBlockBytes;
  f.decode = decode_plain<F>;
  f.multiply_float = multiply_float<F>;
  return f;
}

template <class F>
constexpr FormatKernels block_format() {
  FormatKernels f = {};
  f.name = F::kName;
  f.type_id = F::kTypeId;
  f.block_elems = F::kBlockElems;
  f.block_bytes = F::kBlockBytes;
  f.is_block = true;
  f.decode = decode_blocks<F>;
  f.multiply_float = multiply_float<PlainF32>;
  f.row_bytes = PreparedRow<F>::bytes;
  f.prepare_row = prepare_row<F>;
  f.gemv = gemv<F>;
  f.tile_bytes = tile_bytes;
  f.prepare_tile = prepare_tile<F>;
  f.panel_bytes = panel_bytes<F>;
  f.unpack = unpack<F>;
  f.multiply = multiply_panel<TraitsOf<F>>;
  return f;
}

#define LANE_ENTRY(F) float_format<F>(),
#define LANE_BLOCK_ENTRY(F) block_format<F>(),
inline constexpr FormatKernels kFormats[] = {LANE_FLOAT_FORMATS(LANE_ENTRY) LANE_BLOCK_FORMATS(LANE_BLOCK_ENTRY)};
#undef LANE_ENTRY
#undef LANE_BLOCK_ENTRY

constexpr Kernels kernel_table(Isa isa) {
  Kernels k = {};
  k.isa = isa;
  k.formats = kFormats;
  k.format_count = sizeof kFormats / sizeof kFormats[0];
  k.quantise = quantise;
  k.norm = norm;
  k.rope = rope;
  k.add = add;
  k.multiply = multiply;
  k.scale = scale;
  k.activate = activate;
  k.swiglu = swiglu;
  k.attention_scratch = attention_scratch;
  k.attention = attention;
  k.attention_part = attention_part;
  k.attention_merge = attention_merge;
  k.attention_precise = attention_precise;
  k.greatest = greatest;
  return k;
}

}  // namespace lane::cpu::LANE_ISA
