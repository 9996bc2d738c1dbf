// Residence, when compiling: the order in which matrices move to mapped host memory should a device be too small.
//
// In: the matrices that may move, with their bytes and what the decode step reads of each. Out: their order, the least
// decode time lost per byte freed first. What then moves is decided when the program starts: cpp/runtime/residence.h.
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
// as given. Throws a usage error for negative bytes.
std::vector<uint32_t> order_to_move(const std::vector<MovableMatrix>& matrices);

}  // namespace lane
