// Residence: which matrices lie on the device and which in mapped host memory.
//
// When compiling. In: the matrices that may move, with their bytes and what the decode step reads of each. Out: the
// order in which they move, the least decode time lost per byte freed first. When starting. In: that order, the bytes
// of the arena and of all that cannot move, and the budget. Out: what stays and what moves. Promise: what stays and
// cannot move fits the budget; the same numbers give the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lane {

struct MovableMatrix {
  std::string name;   // for messages; tied names are one matrix
  int64_t bytes;      // of the pool that holds it: a multiple of the alignment
  double read_bytes;  // of it, by one decode step: expected, where a router chooses
};

// A matrix in host memory costs a step read_bytes · (1/bus − 1/device) seconds more than on the device. Both rates are
// the same for all, so the order is by read_bytes / bytes; of equals the largest first, so that few of them move, then
// as given.
std::vector<uint32_t> order_to_move(const std::vector<MovableMatrix>& matrices);

struct ResidenceBudget {
  int64_t arena_bytes = 0;
  int64_t fixed_bytes = 0;   // all else that cannot move: caches, state, constants, io, matrices no kernel reads by bus
  int64_t device_bytes = 0;  // the budget
};

struct Residence {
  std::vector<uint32_t> moved;  // in the order in which they moved
  int64_t device_bytes = 0;     // arena, fixed, and the matrices that stay
  int64_t host_bytes = 0;
};

// Moves matrices in order until the rest fits, then takes back what still does, the costliest to have moved first.
// Throws a capacity error with the numbers where arena and fixed bytes alone exceed the budget, a usage error for
// negative bytes and for an order that is not one of the matrices.
Residence choose_residence(const std::vector<MovableMatrix>& matrices, const std::vector<uint32_t>& order,
                           const ResidenceBudget& budget);

// The budget where none is given: the memory that is free once the context is up and every module loaded, less what
// captured graphs will take; never below zero.
int64_t budget_of_free(int64_t free_bytes, int64_t spare_bytes);

}  // namespace lane
