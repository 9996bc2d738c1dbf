// The checker's own reading of a stream plan: which launches come before which.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cpp/planner/check.h"

namespace lane {

class CheckOrder {
 public:
  // Reads a plan and adds what is wrong with it. A wait for an event not recorded yet orders nothing, as on the device.
  CheckOrder(const Step& step, const StreamPlan& plan, std::vector<Finding>& findings);

  // Whether every launch is issued once, on a stream there is; otherwise there is no order to ask about.
  bool is_order() const { return is_order_; }

  // Launches as they are issued: each comes after all that come before it.
  const std::vector<uint32_t>& issued() const { return issued_; }

  bool before(uint32_t a, uint32_t b) const { return known_[b][stream_[a]] >= rank_[a]; }

  // The accesses' launches of one array, put together: whether all of one come before all of another.
  struct Extent {
    std::array<int64_t, kMaxStreams> last{};   // by stream: the highest rank of the launches, 0 if there is none
    std::array<int64_t, kMaxStreams> known{};  // by stream: the rank up to which all come before every launch
    bool any = false;

    bool before(const Extent& other) const;
  };
  void add(Extent& extent, uint32_t launch) const;

  // "launch 3 'norm x' on stream 1"
  std::string describe(uint32_t launch) const;

 private:
  void read_issue(const Issue& issue, size_t at);
  void read_wait(const Issue& issue, int64_t wait);
  void check_forks();
  void check_joins();
  void report(Fault fault, std::string text) { findings_.push_back({fault, std::move(text)}); }

  const Step& step_;
  const StreamPlan& plan_;
  std::vector<Finding>& findings_;
  bool is_order_ = true;
  std::vector<uint32_t> issued_;
  std::vector<uint32_t> stream_;                          // by launch
  std::vector<int64_t> rank_;                             // by launch: its place on its stream, from 1; 0: not issued
  std::vector<bool> started_;                             // by launch: whether it comes after the step's beginning
  std::vector<std::array<int64_t, kMaxStreams>> known_;   // by launch: the ranks up to which others come before it
  std::array<std::vector<uint32_t>, kMaxStreams> queue_;  // by stream
};

}  // namespace lane
