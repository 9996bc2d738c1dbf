// The step driver: prompts are cut into the largest forms there are, every token is fed once at its position, and what
// a device refuses ends the run after the steps before it.
#include "cpp/runtime/steps.h"

#include <gtest/gtest.h>

#include <numeric>

#include "cpp/runtime/error.h"

namespace lane::test {
namespace {

using Rows = std::vector<std::int64_t>;

// Remembers what it is told; refuses positions from `most` on.
class Recorder final : public StepDevice {
 public:
  explicit Recorder(std::int64_t most = INT64_MAX) : most_(most) {}

  void set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) override {
    given.assign(tokens.begin(), tokens.end());
    pos_ = pos;
  }

  void run(std::int64_t rows, std::int64_t repeat) override {
    if (pos_ + rows > most_) throw Error(ErrorKind::kCapacity, "full");
    steps.insert(steps.end(), static_cast<std::size_t>(repeat), rows);
    if (std::ssize(given) != rows) return;
    for (std::int64_t i = 0; i < rows; ++i) {
      EXPECT_EQ(pos_ + i, std::ssize(fed));
      fed.push_back(given[static_cast<std::size_t>(i)]);
    }
  }

  Rows steps;
  std::vector<std::int32_t> given, fed;

 private:
  const std::int64_t most_;
  std::int64_t pos_ = 0;
};

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
    std::vector<std::int32_t> tokens(count);
    std::iota(tokens.begin(), tokens.end(), 7);
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
}

}  // namespace
}  // namespace lane::test
