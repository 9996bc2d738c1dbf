// The CPU device as the step driver sees it: a program's forms by their rows, one
// sequence's state, its inputs by their place in that.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "cpp/cpu/program.h"
#include "cpp/runtime/steps.h"

namespace lane::cpu {

// Offsets in a state, of i32.
struct StepIo {
  std::int64_t token;   // the decode step's
  std::int64_t tokens;  // a chunk's
  std::int64_t pos;
};

// Refers to the program, which must outlive it.
class CpuSteps final : public StepDevice {
 public:
  CpuSteps(CpuProgram& program, std::int64_t state, const StepIo& io) : program_(program), state_(state), io_(io) {}

  // Says which form of the program is the one over `rows` rows with logits of the last.
  void add(std::int64_t rows, std::int64_t form) { forms_[rows] = form; }

  // The rows of the forms added, up to a number of them.
  std::vector<std::int64_t> rows(std::int64_t most) const;

  void set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) override;
  void run(std::int64_t rows, std::int64_t repeat) override;

 private:
  CpuProgram& program_;
  const std::int64_t state_;
  const StepIo io_;
  std::map<std::int64_t, std::int64_t> forms_;  // by rows
};

}  // namespace lane::cpu
