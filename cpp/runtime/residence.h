// Residence at the start: which matrices stay on the device and which move to mapped host memory.
//
// In: the bytes of the matrices that may move, in the order in which the plan moves them; the bytes of the arena and of
// all that cannot move; the budget. Out: what moves. Promise: what stays and what cannot move fit the budget; the same
// numbers give the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lane {

struct ResidenceBudget {
  std::int64_t arena_bytes = 0;
  std::int64_t fixed_bytes = 0;  // all else that cannot move: caches, state, constants, io, what no kernel reads by bus
  std::int64_t device_bytes = 0;  // the budget
};

struct Residence {
  std::vector<std::size_t> moved;  // matrices, in the order in which they moved
  std::int64_t device_bytes = 0;   // arena, fixed, and the matrices that stay
  std::int64_t host_bytes = 0;
};

// Moves matrices in order until the rest fits, then takes back what still does, the costliest to have moved first.
// Throws a capacity error with the numbers where arena and fixed bytes alone exceed the budget, a usage error for
// negative bytes.
Residence choose_residence(std::span<const std::int64_t> matrix_bytes, const ResidenceBudget& budget);

// The budget where none is given: the memory that is free once the context is up and every module loaded, less what
// captured graphs will take; never below zero.
std::int64_t budget_of_free(std::int64_t free_bytes, std::int64_t spare_bytes);

}  // namespace lane
