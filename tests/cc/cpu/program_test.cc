// Random chains of launches over a few buffers, on several threads against one: a barrier missing between two launches
// that share bytes gives other bits, and a data race to the thread sanitizer.
#include "cpp/cpu/program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "lane_records.h"

namespace lane::cpu {
namespace {

constexpr std::int64_t kCols = 64, kRows = 40, kElems = kRows * kCols;
constexpr std::int64_t kArrays = 4;           // of kElems values in the arena
constexpr std::int64_t kMatrix = kArrays;     // kCols × kCols in Q8_0
constexpr std::int64_t kTable = kArrays + 1;  // in the pool, kElems values
constexpr std::int64_t kRow = kArrays + 2, kToken = kArrays + 3, kLogits = kArrays + 4;
constexpr std::int64_t kScratch = kArrays + 5;  // in the arena, after its arrays
constexpr std::int64_t kArrayBytes = kElems * 4, kQuantBytes = kElems + kElems / 8;
constexpr std::int64_t kScratchBytes = 1 << 16;
constexpr std::int64_t kArenaBytes = kArrays * (kArrayBytes + kQuantBytes) + kScratchBytes;
constexpr std::int64_t kPoolBytes = kArrayBytes + 64 + 64 + kArrayBytes, kNone = -1;
constexpr std::int64_t kOff = 0;  // an option that a launch does without

std::int64_t word(double value) { return std::bit_cast<std::int64_t>(value); }

std::vector<std::int64_t> table() {
  std::vector<std::int64_t> rows;
  const auto add = [&](spec::Space space, spec::Elem elem, std::int64_t length, std::int64_t plain,
                       std::int64_t words = kNone) {
    const std::int64_t scales = words == kNone ? kNone : words + kElems;
    rows.insert(rows.end(), {static_cast<std::int64_t>(space), static_cast<std::int64_t>(elem), length, plain, words,
                             kNone, scales});
  };
  for (std::int64_t i = 0; i < kArrays; ++i) {
    const std::int64_t at = i * (kArrayBytes + kQuantBytes);
    add(spec::Space::kArena, spec::Elem::kF32, kElems, at, at + kArrayBytes);
  }
  add(spec::Space::kMatrix, spec::Elem::kF32, kCols * kCols, 0);
  add(spec::Space::kPool, spec::Elem::kF32, kElems, 0);
  add(spec::Space::kPool, spec::Elem::kI32, 1, kArrayBytes);
  add(spec::Space::kPool, spec::Elem::kI32, 1, kArrayBytes + 64);
  add(spec::Space::kPool, spec::Elem::kF32, kElems, kArrayBytes + 128);
  add(spec::Space::kArena, spec::Elem::kF32, kScratchBytes / 4, kArrays * (kArrayBytes + kQuantBytes));
  return rows;
}

// The words of a launch: its kind, its scratch, its record.
void add_launch(std::vector<std::int64_t>& words, std::int64_t kind, std::initializer_list<std::int64_t> record) {
  words.insert(words.end(), {kind, kScratch});
  words.insert(words.end(), record);
}

void add_scale(std::vector<std::int64_t>& words, std::int64_t x, std::int64_t y, double c) {
  add_launch(words, spec::Scale::kKind, {x, y, kElems, word(c), kOff});
}

// A launch on random arrays, appended to the stream.
void add_random_launch(std::mt19937& random, std::vector<std::int64_t>& words) {
  const auto pick = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(count));
  };
  const std::int64_t a = pick(kArrays), b = pick(kArrays), c = pick(kArrays), rows = 1 + pick(kRows), n = rows * kCols;
  switch (pick(6)) {
    case 0:
      return add_launch(words, spec::Scale::kKind, {a, b, n, word(0.5), kOff});
    case 1:
      return add_launch(words, spec::Binary::kKind, {pick(2), a, b, c, n, kCols, 0, kOff, kOff});
    case 2:
      return add_launch(
          words, spec::Norm::kKind,
          {a, kNone, kNone, b, rows, kCols, word(1e-3), pick(2), kOff, kNone, kNone, kNone, kOff, kOff, kOff});
    case 3: {  // the projection cannot write what it reads
      const std::int64_t y = (a + 1 + pick(kArrays - 1)) % kArrays;
      add_launch(words, spec::Quant::kKind, {a, a, n});
      return add_launch(words, spec::Gemv::kKind,
                        {a, kMatrix, y, 0, kNone, 0, 0, 0, 0, 0, kCols, kCols, rows, 1, kNone, kOff, kOff, kOff, 0});
    }
    case 4:
      return add_launch(words, spec::SetRow::kKind, {kTable, kRow, a, kCols, 1 + pick(5), kOff, kOff, kOff});
    default:
      return add_launch(words, spec::SwiGlu::kKind, {a, b, c, n, kOff});
  }
}

struct Step {
  std::vector<std::int64_t> words;
  std::vector<std::uint8_t> matrix;

  explicit Step(unsigned seed) : matrix(kCols * kCols / 32 * 34) {
    std::mt19937 random(seed);
    for (std::uint8_t& byte : matrix) byte = static_cast<std::uint8_t>(random());
    // Each block's f16 scale: of either sign, near 2^-8.
    for (std::size_t i = 1; i < matrix.size(); i += 34)
      matrix[i] = static_cast<std::uint8_t>(0x1c | (matrix[i] & 0x80));
    for (std::int64_t i = 0; i < kArrays; ++i) {
      add_scale(words, kTable, i, 0.25 * static_cast<double>(i + 1));
    }
    for (int i = 0; i < 60; ++i) add_random_launch(random, words);
    add_scale(words, 0, kLogits, 1.0);
    add_launch(words, spec::ArgMax::kKind, {kLogits, kToken, kRow, kElems, 1, 1, kOff, 0});
  }
};

std::vector<std::byte> run(const Step& step, int threads, int repeat) {
  CpuProgram program(threads, static_cast<std::int64_t>(spec::Numerics::kInt8), "auto");
  program.grow_pool(kPoolBytes);
  std::vector<float> start(kElems);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i % 37) - 18.0f;
  program.write(spec::Space::kPool, 0, 0, std::as_bytes(std::span(start)));
  program.add_matrix(8, kCols, kCols, {{step.matrix.data(), std::ssize(step.matrix), kCols}});
  const std::int64_t form = program.add_form(table(), step.words, kArenaBytes);
  program.run(form, 0, {}, repeat);
  return program.read(spec::Space::kPool, 0, 0, kPoolBytes);
}

TEST(Program, ThreadsGiveTheBitsOfOne) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Step step(seed);
    const std::vector<std::byte> alone = run(step, 1, 3);
    for (const int threads : {2, 3}) EXPECT_EQ(run(step, threads, 3), alone) << "seed " << seed << ", " << threads;
  }
}

}  // namespace
}  // namespace lane::cpu
