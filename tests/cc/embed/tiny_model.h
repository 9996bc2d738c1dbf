// A model small enough to be written by hand, as a checkpoint and a plan in a folder of the test's own: the logits of a
// token are a row of one matrix plus a constant, and the best of row t is token (3 t + 1) mod 8.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cpp/embed/plan_file.h"
#include "cpp/runtime/gguf.h"
#include "lane_records.h"
#include "tests/cc/embed/plan_words.h"
#include "tests/cc/runtime/gguf_bytes.h"

namespace lane::embed {

inline constexpr std::int64_t kVocab = 8, kContext = 40, kChunk = 4, kThreads = 3;
inline constexpr std::int64_t kToken = 0, kPos = 64, kTokens = 128, kLogits = 192, kStateBytes = 256, kPoolBytes = 64;
inline constexpr std::int64_t kRowBytes = kVocab * 4, kScratchBytes = 64;

inline std::int32_t next_of(std::int32_t token) { return static_cast<std::int32_t>((3 * token + 1) % kVocab); }
inline float weight(std::int32_t token, std::int32_t of) { return of == next_of(token) ? 2.0f : 0.125f * of; }
inline constexpr float kBias = 0.5f;

// The rows of tokens [first, end), as the last of a file.
inline std::string with_rows(GgufBytes file, std::int32_t first, std::int32_t end) {
  file.tensor("next." + std::to_string(first), {kVocab, static_cast<std::uint64_t>(end - first)}, 0, 0).data(0, 0);
  for (std::int32_t t = first; t < end; ++t) {
    for (std::int32_t of = 0; of < kVocab; ++of) file.number(weight(t, of));
  }
  return file.bytes();
}

inline std::string tiny_checkpoint() {
  return with_rows(GgufBytes(1, 1).key("general.architecture", GgufKind::kString).string("tiny"), 0, kVocab);
}

// One of the two files that it may be split into.
inline std::string tiny_part(std::uint16_t index, std::int32_t first, std::int32_t end) {
  GgufBytes file(1, 3);
  file.key("split.no", GgufKind::kU16).number(index);
  file.key("split.count", GgufKind::kU16).number<std::uint16_t>(2);
  file.key("split.tensors.count", GgufKind::kI32).number<std::int32_t>(2);
  return with_rows(file, first, end);
}

// One form's buffers and launches.
struct TinyForm {
  std::vector<std::int64_t> table, records;

  explicit TinyForm(std::int64_t rows) {
    enum : std::int64_t { kMatrix, kIndex, kX, kLast, kBiases, kLogitsRow, kTokenOut, kPosition, kScratch };
    add(spec::Space::kMatrix, spec::Elem::kF32, kVocab * kVocab, 0);
    add(spec::Space::kState, spec::Elem::kI32, rows, rows == 1 ? kToken : kTokens);
    add(spec::Space::kArena, spec::Elem::kF32, rows * kVocab, 0);
    add(spec::Space::kArena, spec::Elem::kF32, kVocab, (rows - 1) * kRowBytes);
    add(spec::Space::kPool, spec::Elem::kF32, kVocab, 0);
    add(spec::Space::kState, spec::Elem::kF32, kVocab, kLogits);
    add(spec::Space::kState, spec::Elem::kI32, 1, kToken);
    add(spec::Space::kState, spec::Elem::kI32, 1, kPos);
    add(spec::Space::kArena, spec::Elem::kF32, kScratchBytes / 4, rows * kRowBytes);
    constexpr std::int64_t kAdd = 0, kOff = 0;
    records = {spec::Gather::kKind, kScratch, kMatrix, kIndex, kX, rows, kVocab, std::bit_cast<std::int64_t>(1.0)};
    const std::int64_t bias[] = {
        spec::Binary::kKind, kScratch, kAdd, kLast, kBiases, kLogitsRow, kVocab, kVocab, kOff, kOff, kOff};
    const std::int64_t choose[] = {
        spec::ArgMax::kKind, kScratch, kLogitsRow, kTokenOut, kPosition, kVocab, 1, rows, kOff, kOff};
    records.insert(records.end(), std::begin(bias), std::end(bias));
    records.insert(records.end(), std::begin(choose), std::end(choose));
  }

  static std::int64_t arena_bytes(std::int64_t rows) { return rows * kRowBytes + kScratchBytes; }

 private:
  void add(spec::Space space, spec::Elem elem, std::int64_t length, std::int64_t plain) {
    const std::size_t row = table.size();
    table.resize(row + spec::kTableColumns, -1);
    table[row + spec::kSpace] = static_cast<std::int64_t>(space);
    table[row + spec::kElem] = static_cast<std::int64_t>(elem);
    table[row + spec::kLength] = length;
    table[row + spec::kPlain] = plain;
  }
};

class TinyModel : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    checkpoint_ = write("model.gguf", tiny_checkpoint());
    plan_ = write_words("model.plan", PlanWords(plan()).words());
  }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::string write_words(const std::string& name, std::span<const std::int64_t> words) const {
    return write(name, {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::int64_t)});
  }

  // Forms of one row and of a chunk. Its views are of the fixture.
  Plan plan() const {
    Plan plan{};
    plan.numerics = static_cast<std::int64_t>(spec::Numerics::kPrecise);
    plan.context = kContext;
    plan.threads = kThreads;
    plan.identity = GgufFile::open(checkpoint_).identity();
    const auto head = static_cast<std::int64_t>(plan.identity.head_bytes[0]);
    plan.matrices = {{0, kVocab, kVocab, {{0, head, 3 * kRowBytes, 3}, {0, head + 3 * kRowBytes, 5 * kRowBytes, 5}}}};
    plan.pool_bytes = kPoolBytes;
    plan.constants = {{0, std::as_bytes(std::span(biases_))}};
    plan.state_bytes = kStateBytes;
    plan.io = {kToken, kTokens, kPos, kLogits, kVocab, {{kLogits, kRowBytes}}};
    plan.forms = {{1, false, 1, TinyForm::arena_bytes(1), one_.table, one_.records},
                  {kChunk, false, 1, TinyForm::arena_bytes(kChunk), chunk_.table, chunk_.records}};
    return plan;
  }

  std::string folder_, checkpoint_, plan_;

 private:
  const TinyForm one_{1}, chunk_{kChunk};
  const std::vector<float> biases_ = std::vector<float>(kVocab, kBias);
};

}  // namespace lane::embed
