// The product of every float format on every instruction set against its definition, bit for bit: widths around a
// vector's lanes, rows around a tile's, every number of columns, results next to each other and apart.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpp/cpu/isa.h"
#include "cpp/cpu/kernels.h"

namespace lane::cpu {
namespace {

constexpr std::int64_t kWidths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 65, 100, 1023};
constexpr std::int64_t kMostRows = 8;  // two whole tiles of three and the two rows that may remain
constexpr std::int64_t kSteps[] = {1, 5};

struct FloatCase {
  Isa isa;
  const FormatKernels* format;
  bool precise;
};

std::vector<FloatCase> cases() {
  std::vector<FloatCase> all;
  for (const Isa isa : available_isas()) {
    const Kernels& table = kernels(isa);
    for (int i = 0; i < table.format_count; ++i) {
      if (table.formats[i].is_block) continue;
      for (const bool precise : {false, true}) all.push_back({isa, &table.formats[i], precise});
    }
  }
  return all;
}

// Finite values of every size that a format's random bits give, none so large that a sum would not be finite. The bytes
// end where the last row does, so that a sanitizer sees a read beyond it.
std::vector<std::uint8_t> random_rows(const FormatKernels& format, std::int64_t values, std::mt19937& random) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> value(static_cast<std::size_t>(format.block_bytes));
  while (static_cast<std::int64_t>(bytes.size()) < values * format.block_bytes) {
    for (std::uint8_t& byte : value) byte = static_cast<std::uint8_t>(random());
    float decoded = 0.0f;
    format.decode(value.data(), &decoded, 1);
    if (std::abs(decoded) < 0x1p16f) bytes.insert(bytes.end(), value.begin(), value.end());
  }
  bytes.shrink_to_fit();
  return bytes;
}

std::vector<float> random_values(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

template <class Sum>
float defined(const float* w, const float* x, std::int64_t k) {
  Sum lanes[8] = {};
  for (std::int64_t i = 0; i < k; ++i) lanes[i % 8] = std::fma(Sum{x[i]}, Sum{w[i]}, lanes[i % 8]);
  return static_cast<float>(((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) +
                            ((lanes[4] + lanes[6]) + (lanes[5] + lanes[7])));
}

std::uint32_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

class Floats : public testing::TestWithParam<FloatCase> {
 protected:
  // Columns of one width by up to kMostRows rows.
  void check_width(std::int64_t k) {
    const auto& [isa, format, precise] = GetParam();
    std::mt19937 random(static_cast<std::uint32_t>(k));
    const std::vector<std::uint8_t> matrix = random_rows(*format, kFloatCols * k, random);
    std::vector<float> weights(static_cast<std::size_t>(kFloatCols * k));
    format->decode(matrix.data(), weights.data(), kFloatCols * k);
    const std::vector<float> x = random_values(kMostRows * k, random);
    FloatProduct product = {};
    product.x = x.data();
    product.k = k;
    product.precise = precise;
    for (std::int64_t c = 0; c < kFloatCols; ++c) {
      product.w[product.cols++] = matrix.data() + c * k * format->block_bytes;
      for (product.rows = 1; product.rows <= kMostRows; ++product.rows) {
        for (const std::int64_t step : kSteps) check_product(product, weights, step);
      }
    }
  }

 private:
  void check_product(FloatProduct product, const std::vector<float>& weights, std::int64_t step) {
    const float untouched = std::numeric_limits<float>::quiet_NaN();
    product.step = step;
    product.pitch = product.cols * step + 1;
    std::vector<float> wanted(static_cast<std::size_t>(product.rows * product.pitch), untouched);
    for (std::int64_t r = 0; r < product.rows; ++r) {
      for (std::int64_t c = 0; c < product.cols; ++c) {
        const float *w = weights.data() + c * product.k, *x = product.x + r * product.k;
        wanted[static_cast<std::size_t>(r * product.pitch + c * step)] =
            product.precise ? defined<double>(w, x, product.k) : defined<float>(w, x, product.k);
      }
    }
    std::vector<float> found(wanted.size(), untouched);
    product.y = found.data();
    GetParam().format->multiply_float(product);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(bits(found[i]), bits(wanted[i])) << "value " << i << " of " << product.rows << " rows, " << product.cols
                                                 << " columns, width " << product.k << ", step " << step;
    }
  }
};

TEST_P(Floats, SumsAreThoseOfTheDefinition) {
  for (const std::int64_t k : kWidths) ASSERT_NO_FATAL_FAILURE(check_width(k));
}

std::string case_name(const testing::TestParamInfo<FloatCase>& info) {
  return std::string(isa_name(info.param.isa)) + "_" + info.param.format->name + (info.param.precise ? "_precise" : "");
}

INSTANTIATE_TEST_SUITE_P(Every, Floats, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace lane::cpu
