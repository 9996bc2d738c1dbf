// The step driver: prompts are cut into the largest forms there are, every token is fed once at its position, and what
// a device refuses ends the run after the steps before it.
#include "cpp/runtime/steps.h"

#include <gtest/gtest.h>

#include <numeric>

#include "cpp/runtime/error.h"

namespace lane::test {
namespace {

using Rows = std::vector<std::int64_t>;

constexpr std::size_t kVocab = 3;

// Remembers what it is told; refuses positions from `most` on. The logits of a token t are t, t + 1, t + 2, the token
// that it chooses the next number.
class Recorder final : public StepDevice {
 public:
  explicit Recorder(std::int64_t most = INT64_MAX) : most_(most) {}

  void reset() override { pos_ = 0; }

  void set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) override {
    given_.assign(tokens.begin(), tokens.end());
    pos_ = pos;
  }

  std::int32_t token() override { return given_.back(); }
  std::int64_t position() override { return pos_; }

  void run(std::int64_t rows, std::int64_t repeat) override {
    for (std::int64_t i = 0; i < repeat; ++i) step(rows);
  }

  void run_all(std::int64_t rows, std::span<float> logits) override {
    ASSERT_EQ(logits.size(), static_cast<std::size_t>(rows) * kVocab);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>(given_[i / kVocab]) + static_cast<float>(i % kVocab);
    }
    step(rows);
  }

  Rows steps;
  std::vector<std::int32_t> fed;

 private:
  void step(std::int64_t rows) {
    if (pos_ + rows > most_) throw Error(ErrorKind::kCapacity, "full");
    ASSERT_EQ(std::ssize(given_), rows);
    steps.push_back(rows);
    EXPECT_EQ(pos_, std::ssize(fed));
    fed.insert(fed.end(), given_.begin(), given_.end());
    pos_ += rows;
    given_ = {given_.back() + 1};
  }

  const std::int64_t most_;
  std::int64_t pos_ = 0;
  std::vector<std::int32_t> given_ = {100};
};

// What a hook heard.
struct Heard {
  Rows positions, rows;
  std::vector<std::int32_t> tokens;

  StepHook hook() {
    return [this](const StepRun& step) {
      positions.push_back(step.pos);
      rows.push_back(std::ssize(step.tokens));
      tokens.insert(tokens.end(), step.tokens.begin(), step.tokens.end());
    };
  }
};

std::vector<std::int32_t> count_up(std::size_t count) {
  std::vector<std::int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 7);
  return tokens;
}

TEST(Steps, TheLargestFormsThatFit) {
  const Rows all = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  EXPECT_EQ(cut_steps(700, all), (Rows{512, 128, 32, 16, 8, 4}));
  EXPECT_EQ(cut_steps(1025, all), (Rows{512, 512, 1}));
  EXPECT_EQ(cut_steps(0, all), Rows{});
  EXPECT_EQ(cut_steps(7, Rows{1}), Rows(7, 1));
  EXPECT_EQ(cut_steps(11, Rows{4, 1, 32}), (Rows{4, 4, 1, 1, 1}));
}

TEST(Steps, EveryTokenIsFedOnceAtItsPosition) {
  const Rows forms = {1, 2, 8, 32};
  for (std::size_t count = 0; count < 150; ++count) {
    const std::vector<std::int32_t> tokens = count_up(count);
    Recorder device;
    prefill(device, std::span(tokens).first(count / 3), 0, forms);
    prefill(device, std::span(tokens).subspan(count / 3), static_cast<std::int64_t>(count / 3), forms);
    EXPECT_EQ(device.fed, tokens);
    EXPECT_EQ(std::accumulate(device.steps.begin(), device.steps.end(), std::int64_t{0}),
              static_cast<std::int64_t>(count));
  }
}

TEST(Steps, DecodeRepeatsTheStepOverOneRow) {
  Recorder device;
  decode(device, 3);
  EXPECT_EQ(device.steps, Rows(3, 1));
  EXPECT_EQ(device.fed, (std::vector<std::int32_t>{100, 101, 102}));
}

TEST(Steps, AHookHearsOfEveryStep) {
  Heard heard;
  Recorder device;
  const std::vector<std::int32_t> tokens = count_up(13);
  prefill(device, tokens, 0, Rows{1, 4, 8}, heard.hook());
  decode(device, 2, heard.hook());
  EXPECT_EQ(heard.rows, (Rows{8, 4, 1, 1, 1}));
  EXPECT_EQ(heard.positions, (Rows{0, 8, 12, 13, 14}));
  EXPECT_EQ(heard.tokens, device.fed);
  EXPECT_EQ(heard.tokens.back(), tokens.back() + 2);
}

TEST(Steps, WhatAHookThrowsEndsTheRun) {
  Recorder device;
  const StepHook stop = [](const StepRun& step) {
    if (step.pos == 8) throw Error(ErrorKind::kUsage, "enough");
  };
  EXPECT_THROW(prefill(device, count_up(14), 0, Rows{1, 4, 8}, stop), Error);
  EXPECT_EQ(device.steps, (Rows{8, 4}));
}

TEST(Steps, LogitsOfEveryToken) {
  for (std::size_t count = 0; count < 40; ++count) {
    const std::vector<std::int32_t> tokens = count_up(count);
    std::vector<float> logits(count * kVocab), expected;
    for (const std::int32_t token : tokens) {
      for (std::size_t i = 0; i < kVocab; ++i) expected.push_back(static_cast<float>(token) + static_cast<float>(i));
    }
    Heard heard;
    Recorder device;
    prefill_all(device, tokens, 0, Rows{1, 2, 8}, logits, heard.hook());
    EXPECT_EQ(logits, expected);
    EXPECT_EQ(device.fed, tokens);
    EXPECT_EQ(heard.rows, device.steps);
  }
}

TEST(Steps, ARefusalLeavesTheStepsBeforeIt) {
  const std::vector<std::int32_t> tokens(14, 5);
  Recorder device(12);
  EXPECT_THROW(prefill(device, tokens, 0, Rows{1, 4, 8}), Error);
  EXPECT_EQ(device.steps, (Rows{8, 4}));
}

TEST(Steps, RefusesWhatMakesNoSense) {
  EXPECT_THROW(cut_steps(-1, Rows{1}), Error);
  EXPECT_THROW(cut_steps(3, Rows{}), Error);
  EXPECT_THROW(cut_steps(3, Rows{2, 4}), Error);
  EXPECT_THROW(cut_steps(3, Rows{0, 1, 4}), Error);
  Recorder device;
  std::vector<float> logits(2 * kVocab + 1);
  EXPECT_THROW(prefill_all(device, count_up(2), 0, Rows{1, 2}, logits), Error);
  EXPECT_THROW(decode(device, -1), Error);
  EXPECT_THROW(decode(device, -1, [](const StepRun&) {}), Error);
  EXPECT_TRUE(device.fed.empty());
}

}  // namespace
}  // namespace lane::test
