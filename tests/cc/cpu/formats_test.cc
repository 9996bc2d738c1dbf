// Every word and factor of every block format, as each instruction set's int8 kernels read them, against its decode.
//
// An activation row that is 127 in one place and 0 elsewhere has there the word 127 under the scale 1, so its dot with
// a matrix row is 127 times that row's one value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cpp/cpu/isa.h"
#include "cpp/cpu/kernels.h"

namespace lane::cpu {
namespace {

constexpr std::int64_t kRows = kPanelCols - 3;  // a panel that is not full
constexpr std::int64_t kGroupValues = 16;       // the fewest values that share factors

struct FormatCase {
  Isa isa;
  const FormatKernels* format;
  std::int64_t k;
};

// A row of whole groups of eight chunks, and for small blocks one whose last group is not full.
std::vector<FormatCase> cases() {
  std::vector<FormatCase> all;
  for (const Isa isa : available_isas()) {
    const Kernels& table = kernels(isa);
    for (std::int64_t i = 0; i < table.format_count; ++i) {
      const FormatKernels* format = &table.formats[i];
      if (!format->is_block) continue;
      all.push_back({isa, format, 512});
      if (format->block_elems < 256) all.push_back({isa, format, 256 + 5 * format->block_elems});
    }
  }
  return all;
}

struct Matrix {
  std::int64_t row_bytes;
  std::vector<std::uint8_t> bytes;
  std::vector<float> values;  // decoded
};

// Random bits, drawn again where a block has values that are not of ordinary size.
Matrix random_matrix(const FormatKernels& format, std::int64_t k) {
  std::mt19937 random(static_cast<std::uint32_t>(format.type_id));
  Matrix m = {k / format.block_elems * format.block_bytes, {}, {}};
  std::vector<std::uint8_t> block(static_cast<std::size_t>(format.block_bytes));
  std::vector<float> values(static_cast<std::size_t>(format.block_elems));
  while (static_cast<std::int64_t>(m.values.size()) < kRows * k) {
    for (std::uint8_t& byte : block) byte = static_cast<std::uint8_t>(random());
    format.decode(block.data(), values.data(), format.block_elems);
    float largest = 0.0f;
    for (const float v : values) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : 1e9f;
    if (!(largest > 0x1p-8f && largest < 0x1p8f)) continue;
    m.bytes.insert(m.bytes.end(), block.begin(), block.end());
    m.values.insert(m.values.end(), values.begin(), values.end());
  }
  m.bytes.shrink_to_fit();  // a read past the last block is one past the allocation, which a sanitizer sees
  return m;
}

class Formats : public testing::TestWithParam<FormatCase> {};

// On either side a value passes a few roundings, each at most 2^-24 of scale·q or of the minimum, and neither of these
// is more than about eight times the greatest of its unit's values. So 2^-18 of that value is above what rounding may
// do, and a q that is off by one is off by more, unless its block's minimum happens to dwarf its scale.
TEST_P(Formats, WordsAndFactorsAreThoseOfDecode) {
  const auto& [isa, format, k] = GetParam();
  const Matrix matrix = random_matrix(*format, k);
  std::vector<std::uint8_t> prepared(static_cast<std::size_t>(format->row_bytes(k)));
  std::vector<std::uint8_t> tile(static_cast<std::size_t>(format->tile_bytes(k)));
  std::vector<std::uint8_t> panel(static_cast<std::size_t>(format->panel_bytes(k)));
  const std::uint8_t* rows[kPanelCols] = {};
  for (std::int64_t r = 0; r < kRows; ++r) rows[r] = matrix.bytes.data() + r * matrix.row_bytes;
  format->unpack(rows, k, panel.data());

  std::vector<std::int8_t> words(static_cast<std::size_t>(k));
  std::vector<float> scales(static_cast<std::size_t>(k / kQuantBlock));
  for (std::int64_t at = 0; at < k; ++at) {
    words[static_cast<std::size_t>(at)] = 127;
    scales[static_cast<std::size_t>(at / kQuantBlock)] = 1.0f;
    const QuantRows x = {words.data(), nullptr, scales.data()};
    float by_row[kRows], by_panel[kRows];
    format->prepare_row(x, k, prepared.data());
    format->gemv(matrix.bytes.data(), kRows, k, x, prepared.data(), by_row);
    format->prepare_tile(x, 1, k, tile.data(), prepared.data());
    format->multiply(panel.data(), tile.data(), 1, k, false, by_panel, kRows, kRows);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* row = matrix.values.data() + r * k;
      float largest = 0.0f;
      for (std::int64_t i = at / kGroupValues * kGroupValues, n = 0; n < kGroupValues; ++i, ++n) {
        largest = std::max(largest, std::abs(row[i]));
      }
      ASSERT_NEAR(by_row[r], 127.0f * row[at], 127.0f * largest * 0x1p-18f) << "row " << r << " value " << at;
      ASSERT_EQ(std::memcmp(&by_row[r], &by_panel[r], sizeof(float)), 0) << "row " << r << " value " << at;
    }
    words[static_cast<std::size_t>(at)] = 0;
    scales[static_cast<std::size_t>(at / kQuantBlock)] = 0.0f;
  }
}

std::string case_name(const testing::TestParamInfo<FormatCase>& info) {
  return std::string(isa_name(info.param.isa)) + "_" + info.param.format->name + "_" + std::to_string(info.param.k);
}

INSTANTIATE_TEST_SUITE_P(Every, Formats, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace lane::cpu
