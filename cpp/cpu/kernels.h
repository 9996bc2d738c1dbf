// What the kernels compiled for one instruction set offer the rest of the device: tables of functions over raw
// pointers, checked by whoever calls them. All of them give the same bits on every instruction set, and a row's
// result never depends on the rows, columns or positions computed with it.
#pragma once

#include <cstdint>

#include "cpp/cpu/isa.h"
#include "lane_spec.h"

namespace lane::cpu {

inline constexpr std::int64_t kQuantBlock = spec::kQuantBlockElems;  // values of an activation that share a scale
inline constexpr std::int64_t kPanelCols = spec::kCpuPanelCols;      // matrix rows (columns of the product) of a panel
inline constexpr std::int64_t kTileStreams = spec::kCpuTileStreams;  // word rows of a tile: activation rows × words
inline constexpr std::int64_t kFloatCols = spec::kCpuFloatCols;      // matrix rows that a float tile multiplies at once
inline constexpr std::int64_t kSpanChunk = spec::kCpuSpanChunk;      // positions whose softmax is taken on its own

// Rows of a quantised activation: k words (and second words, under int8x2) and k / 32 scales a row, rows end to end.
struct QuantRows {
  const std::int8_t* words;
  const std::int8_t* second;  // null: one word a value
  const float* scales;
};

// y[r · pitch + c · step] = x row r · matrix row w[c], r < rows, c < cols (1 to kFloatCols): rows of k values, those of
// x end to end.
struct FloatProduct {
  const std::uint8_t* w[kFloatCols];
  std::int64_t cols;
  const float* x;
  std::int64_t rows, k;
  float* y;
  std::int64_t pitch, step;
  bool precise;
};

// The functions of one format. Float formats have none of the int8 ones.
struct FormatKernels {
  const char* name;
  std::int64_t type_id, block_elems, block_bytes;
  bool is_block;

  // n values of a row, a multiple of block_elems.
  void (*decode)(const std::uint8_t* row, float* out, std::int64_t n);

  // The matrix rows as they lie in a float format, decoded to f32 in any other.
  void (*multiply_float)(const FloatProduct& product);

  // GEMV: `prepare_row` makes what a row's dots need besides its words, `row_bytes(k)` of it; `gemv` multiplies it by
  // `rows` consecutive matrix rows.
  std::int64_t (*row_bytes)(std::int64_t k);
  void (*prepare_row)(QuantRows x, std::int64_t k, void* prepared);
  void (*gemv)(const std::uint8_t* w, std::int64_t rows, std::int64_t k, QuantRows x, const void* prepared, float* y);

  // GEMM: `prepare_tile` packs the words of `rows` activation rows, at most kTileStreams word rows, with a prepared row
  // as scratch; `unpack` a panel of kPanelCols matrix rows (null: none); `multiply` multiplies a tile by a panel into
  // y[r · pitch + c], c < cols.
  std::int64_t (*tile_bytes)(std::int64_t k);
  void (*prepare_tile)(QuantRows x, std::int64_t rows, std::int64_t k, void* tile, void* row_memory);
  std::int64_t (*panel_bytes)(std::int64_t k);
  void (*unpack)(const std::uint8_t* const* rows, std::int64_t k, void* panel);
  void (*multiply)(const void* panel, const void* tile, std::int64_t rows, std::int64_t k, bool two_words, float* y,
                   std::int64_t pitch, std::int64_t cols);
};

struct AttentionArgs {
  const float* q;
  const float* keys;
  const float* values;
  const float* sinks;  // null: none
  float* out;
  std::int64_t rows, heads, group, hd, vd, len;
  std::int64_t start;   // position of row 0
  std::int64_t window;  // 0: all
  double scale, cap;    // cap 0: none
};

struct RopeArgs {
  const float* x;
  const float* cos;
  const float* sin;
  float* y;
  std::int64_t per_row, hd, half;
  bool interleaved, precise;
};

struct NormArgs {
  const float* x;
  const float* w;     // null: none
  const float* bias;  // null: none
  float* y;
  std::int64_t cols;
  double eps;
  bool centre, precise;
};

// `precise`: sums and transcendental functions in f64.
struct Kernels {
  Isa isa;
  const FormatKernels* formats;
  int format_count;

  void (*quantise)(const float* x, std::int64_t n, std::int8_t* words, std::int8_t* second, float* scales);

  void (*norm)(const NormArgs& args, std::int64_t first, std::int64_t count);
  void (*rope)(const RopeArgs& args, std::int64_t first_row, std::int64_t rows);

  void (*add)(const float* a, const float* b, float* y, std::int64_t n);
  void (*multiply)(const float* a, const float* b, float* y, std::int64_t n);
  void (*scale)(const float* x, double c, float* y, std::int64_t n);
  void (*activate)(spec::UnaryOp op, const float* x, double c, bool precise, float* y, std::int64_t n);
  void (*swiglu)(const float* gate, const float* up, bool precise, float* y, std::int64_t n);

  // Attention of query rows [first, first + count) of one key/value head, over their whole span. `scratch` holds
  // attention_scratch(args, count) bytes.
  std::int64_t (*attention_scratch)(const AttentionArgs& args, std::int64_t count);
  void (*attention)(const AttentionArgs& args, std::int64_t kv_head, std::int64_t first, std::int64_t count,
                    void* scratch);
  // The same in two steps: one chunk's parts (2 + vd floats a query, the scratch that of one row), then a head's parts,
  // `part_stride` floats apart, merged in `total` (2 + vd floats).
  void (*attention_part)(const AttentionArgs& args, std::int64_t kv_head, std::int64_t row, std::int64_t chunk,
                         float* parts, void* scratch);
  void (*attention_merge)(const AttentionArgs& args, std::int64_t head, std::int64_t row, const float* parts,
                          std::int64_t part_stride, std::int64_t chunks, float* total);
  // One query of one head with every sum in f64; `scratch` holds len + vd doubles.
  void (*attention_precise)(const AttentionArgs& args, std::int64_t head, std::int64_t row, double* scratch);

  // The greatest of n values that is no NaN, -inf if there is none.
  float (*greatest)(const float* x, std::int64_t n);
};

const Kernels& kernels(Isa isa);
const Kernels& kernels_portable();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

}  // namespace lane::cpu
