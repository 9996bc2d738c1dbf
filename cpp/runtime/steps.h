// The step driver: which steps a prompt and a generation run, in which order, on any device.
//
// In: tokens, where in their sequence they are, and a device with forms over some numbers of rows. Out: the forms run,
// the largest that fit first and the decode step, over one row, for what is left. After each step the device's own
// token and position are the next ones, so decode steps follow one another with nothing between.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lane {

// What runs steps.
class StepDevice {
 public:
  virtual ~StepDevice() = default;

  // Gives the next step its tokens, one a row, and the position of the first.
  virtual void set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) = 0;

  // Runs the form over `rows` rows, logits of the last, `repeat` times. Throws what the device refuses, before a step.
  virtual void run(std::int64_t rows, std::int64_t repeat) = 0;
};

// Rows of the steps over `count` tokens, by the forms there are: `rows` in any order, 1 among them. Throws a usage
// error for a negative count, a form without rows, or no form over one row.
std::vector<std::int64_t> cut_steps(std::int64_t count, std::span<const std::int64_t> rows);

// Runs tokens from position `pos` on, by the forms over `rows` rows. Should a step be refused, those before it have
// run.
void prefill(StepDevice& device, std::span<const std::int32_t> tokens, std::int64_t pos,
             std::span<const std::int64_t> rows);

// Runs the decode step, each time on the token that the step before chose.
void decode(StepDevice& device, std::int64_t steps);

}  // namespace lane
