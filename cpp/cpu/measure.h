// What a form's launches need beside its buffers, known before there is memory for any of it: the plan asks, and places
// it with everything else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpp/cpu/binder.h"

namespace lane::cpu {

// A matrix by what its kernels depend on: ggml's type number, rows, columns.
struct MatrixShape {
  std::int64_t type_id, rows, cols;
};

// For each launch of a form (as CpuProgram::add_form takes it, its scratch not read), on so many threads.
std::vector<Needs> measure_form(std::span<const std::int64_t> table, std::span<const std::int64_t> words,
                                const std::vector<MatrixShape>& matrices, std::int64_t numerics, int threads,
                                const std::string& isa);

}  // namespace lane::cpu
