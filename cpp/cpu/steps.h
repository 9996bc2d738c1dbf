// The CPU device as the step driver sees it: a program's forms by their rows, one sequence's state, and the place in
// that of inputs and outputs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cpp/cpu/program.h"
#include "cpp/runtime/steps.h"

namespace lane::cpu {

// Bytes [offset, offset + bytes) of a state.
struct StateRange {
  std::int64_t offset, bytes;
};

// Offsets in a state: of i32, but for the logits of f32.
struct StepIo {
  std::int64_t token;   // the decode step's
  std::int64_t tokens;  // a chunk's
  std::int64_t pos;
  std::int64_t logits = 0;          // of the last row of the last step
  std::int64_t vocab = 0;           // values of a row of logits
  std::vector<StateRange> carried;  // what a sequence begins with as zeros
};

// Refers to the program, which must outlive it.
class CpuSteps final : public StepDevice {
 public:
  CpuSteps(CpuProgram& program, std::int64_t state, StepIo io) : program_(program), state_(state), io_(std::move(io)) {}

  // Says which form of the program is the one over `rows` rows with logits of the last, or of all of them.
  void add(std::int64_t rows, std::int64_t form) { last_[rows] = form; }
  void add_all(std::int64_t rows, std::int64_t form) { all_[rows] = form; }

  // The rows of the forms added with logits of the last row, or of all, up to a number of them. One row is both.
  std::vector<std::int64_t> rows(std::int64_t most) const { return rows_of(last_, most); }
  std::vector<std::int64_t> rows_all(std::int64_t most) const;

  void reset() override;
  void set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) override;
  std::int32_t token() override { return read_i32(io_.token); }
  std::int64_t position() override { return read_i32(io_.pos); }
  void run(std::int64_t rows, std::int64_t repeat) override;
  void run_all(std::int64_t rows, std::span<float> logits) override;

  // Chooses the token that the next decode step takes.
  void set_token(std::int32_t token) { write_i32(io_.token, std::span(&token, 1)); }

  // The last step's logits of its last row: as many values as there is room for.
  void read_logits(std::span<float> logits);

 private:
  using Forms = std::map<std::int64_t, std::int64_t>;  // by rows

  static std::vector<std::int64_t> rows_of(const Forms& forms, std::int64_t most);
  static std::int64_t form_of(const Forms& forms, std::int64_t rows);
  std::int32_t read_i32(std::int64_t offset);
  void write_i32(std::int64_t offset, std::span<const std::int32_t> values);

  CpuProgram& program_;
  const std::int64_t state_;
  const StepIo io_;
  Forms last_, all_;
};

}  // namespace lane::cpu
