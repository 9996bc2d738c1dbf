// The order that a stream plan declares, as vector clocks.
//
// In: a stream plan. Out: for each launch how many launches of each stream come before it. Launch a comes before launch
// b where b's count of a's stream is above a's place on it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cpp/planner/step.h"

namespace lane {

using Counts = std::array<int64_t, kMaxStreams>;

class Clocks {
 public:
  explicit Clocks(size_t launches) : stream_(launches), place_(launches), before_(launches) {}
  explicit Clocks(const StreamPlan& plan);

  // Issues a launch on a stream, after those issued there before.
  void issue(uint32_t launch, uint32_t stream);

  // Lets the launch issued last wait for another.
  void wait(uint32_t launch, uint32_t other);

  uint32_t stream(uint32_t launch) const { return stream_[launch]; }
  int64_t place(uint32_t launch) const { return place_[launch]; }          // among its stream's, from 0
  const Counts& before(uint32_t launch) const { return before_[launch]; }  // of launches that come before it
  bool before(uint32_t a, uint32_t b) const { return before_[b][stream_[a]] > place_[a]; }

  // What comes before whatever is issued next on a stream.
  const Counts& at_end(uint32_t stream) const { return at_end_[stream]; }

 private:
  std::vector<uint32_t> stream_;
  std::vector<int64_t> place_;
  std::vector<Counts> before_;
  std::array<Counts, kMaxStreams> at_end_{};
};

}  // namespace lane
