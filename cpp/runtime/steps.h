// The step driver: which steps a prompt and a generation run, in which order, on any device. It alone cuts prompts.
//
// In: tokens, where in their sequence they are, and a device with forms over some numbers of rows. Out: the forms run,
// the largest that fit first and the decode step, over one row, for what is left. After each step the device's own
// token and position are the next ones, so decode steps follow one another with nothing between, unless a hook is to
// hear of each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lane {

// What one step has run: these tokens, a row each, the first at position `pos`.
struct StepRun {
  std::int64_t pos;
  std::span<const std::int32_t> tokens;
};

// Hears of each step once it has run. What it throws ends the run there.
using StepHook = std::function<void(const StepRun&)>;

// What runs the steps of one sequence. A device of several sequences is one of these for each: state is the sequence's,
// forms are shared.
class StepDevice {
 public:
  virtual ~StepDevice() = default;

  // Forgets the sequence: carried state is as at the start, the next position 0.
  virtual void reset() = 0;

  // Gives the next step its tokens, one a row, and the position of the first.
  virtual void set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) = 0;

  // What the decode step would take next: after a step, the token that it chose and the position after its rows.
  virtual std::int32_t token() = 0;
  virtual std::int64_t position() = 0;

  // Runs the form over `rows` rows, logits of the last, `repeat` times. Throws what the device refuses, before a step.
  virtual void run(std::int64_t rows, std::int64_t repeat) = 0;

  // Runs the form over `rows` rows once; `logits` are then those of all of them, one row after the other.
  virtual void run_all(std::int64_t rows, std::span<float> logits) = 0;
};

// Rows of the steps over `count` tokens, by the forms there are: `rows` in any order, 1 among them. Throws a usage
// error for a negative count, a form without rows, or no form over one row.
std::vector<std::int64_t> cut_steps(std::int64_t count, std::span<const std::int64_t> rows);

// Runs tokens from position `pos` on, by the forms over `rows` rows. Should a step be refused, those before it have
// run.
void prefill(StepDevice& device, std::span<const std::int32_t> tokens, std::int64_t pos,
             std::span<const std::int64_t> rows, const StepHook& hook = {});

// The same with logits of every token: as many values a token as `logits` has room for, a usage error if they do not
// share it equally.
void prefill_all(StepDevice& device, std::span<const std::int32_t> tokens, std::int64_t pos,
                 std::span<const std::int64_t> rows, std::span<float> logits, const StepHook& hook = {});

// Runs the decode step, each time on the token that the step before chose.
void decode(StepDevice& device, std::int64_t steps, const StepHook& hook = {});

}  // namespace lane
