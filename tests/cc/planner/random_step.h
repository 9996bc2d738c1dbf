// Random steps: launches that write new arrays whole or in parts, read what is there, and update carried state.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cpp/planner/step.h"
#include "tests/cc/planner/random_order.h"

namespace lane::test {

inline constexpr int64_t kPoolAlignment = 4;

class RandomStep {
 public:
  // A launch reads nothing older than the last `reach` arrays but the pool's.
  RandomStep(Random& random, int64_t launches, int64_t reach = 1000) : random_(random), reach_(reach) {
    add_pool_array("param", true);
    add_pool_array("constant", true);
    add_pool_array("state", false);
    add_pool_array("cache", false);
    for (int64_t l = 0; l < launches; ++l) add_launch();
  }

  const Step& step() const { return step_; }
  int64_t pool_bytes() const { return pool_bytes_; }

 private:
  void add_pool_array(const std::string& name, bool read_only) {
    const int64_t bytes = random_.between(1, 6);
    readable_.push_back(static_cast<uint32_t>(step_.arrays.size()));
    step_.arrays.push_back({name, bytes, Space::kPool, pool_bytes_, true, read_only});
    pool_bytes_ += (bytes + kPoolAlignment - 1) / kPoolAlignment * kPoolAlignment;
  }

  uint32_t add_arena_array(int64_t bytes) {
    step_.arrays.push_back({"t" + std::to_string(step_.arrays.size()), bytes, Space::kArena, 0, false, false});
    return static_cast<uint32_t>(step_.arrays.size() - 1);
  }

  StepLaunch& new_launch() {
    StepLaunch launch;
    launch.name = "op" + std::to_string(step_.launches.size());
    launch.alone_us = static_cast<double>(random_.between(1, 9));
    launch.share = 0.1 * static_cast<double>(random_.between(1, 10));
    const int64_t reads = random_.between(1, 3);
    for (int64_t r = 0; r < reads; ++r) {
      // Mostly what is recent, as in a real step; sometimes what is older, or of the pool.
      const auto count = static_cast<int64_t>(readable_.size());
      const int64_t from = std::max<int64_t>(0, count - (random_.one_in(3) ? reach_ : 4));
      const int64_t at = random_.one_in(8) ? random_.below(4) : random_.between(from, count - 1);
      const uint32_t array = readable_[static_cast<size_t>(at)];
      launch.accesses.push_back({array, Effect::kRead, some_span(array)});
    }
    step_.launches.push_back(std::move(launch));
    return step_.launches.back();
  }

  ByteSpan whole(uint32_t array) const { return {0, step_.arrays[array].bytes, 0, 1}; }

  ByteSpan some_span(uint32_t array) {
    const int64_t bytes = step_.arrays[array].bytes;
    if (bytes < 2 || !random_.one_in(3)) return whole(array);
    if (bytes % 2 == 0 && random_.one_in(2)) return {random_.below(2), 1, 2, bytes / 2};
    const int64_t begin = random_.below(bytes);
    return {begin, random_.between(1, bytes - begin), 0, 1};
  }

  void add_launch() {
    switch (random_.below(8)) {
      case 0:  // carried state, updated somewhere
        add_update(static_cast<uint32_t>(random_.between(2, 3)));
        break;
      case 1:
        add_parts();
        break;
      case 2:
        if (step_.arrays.size() > 4) {
          add_rewrite();
          break;
        }
        [[fallthrough]];
      default:
        add_output(random_.between(1, 8));
    }
  }

  void add_output(int64_t bytes) {
    StepLaunch& launch = new_launch();
    const uint32_t array = add_arena_array(bytes);
    launch.accesses.push_back({array, Effect::kWrite, whole(array)});
    if (random_.one_in(4)) {  // scratch, or a second output that nothing may ever read
      const uint32_t scratch = add_arena_array(random_.between(1, 5));
      launch.accesses.push_back({scratch, Effect::kWrite, whole(scratch)});
      if (random_.one_in(2)) readable_.push_back(scratch);
    }
    readable_.push_back(array);
  }

  // An array that two launches write, each its part of every unit or its half.
  void add_parts() {
    const int64_t units = random_.between(1, 4);
    const bool halves = random_.one_in(2);
    const uint32_t array = add_arena_array(2 * units);
    for (int64_t part = 0; part < 2; ++part) {
      const ByteSpan span = halves ? ByteSpan{part * units, units, 0, 1} : ByteSpan{part, 1, 2, units};
      new_launch().accesses.push_back({array, Effect::kWrite, span});
    }
    readable_.push_back(array);
  }

  void add_update(uint32_t array) {
    StepLaunch& launch = new_launch();
    drop_reads(launch, array);
    launch.accesses.push_back({array, Effect::kUpdate, some_span(array)});
  }

  // An array of the arena written again, or updated in place.
  void add_rewrite() {
    const uint32_t array = readable_.back();
    if (step_.arrays[array].space != Space::kArena) return add_output(random_.between(1, 8));
    StepLaunch& launch = new_launch();
    const Effect effect = random_.one_in(2) ? Effect::kWrite : Effect::kUpdate;
    drop_reads(launch, array);
    launch.accesses.push_back({array, effect, effect == Effect::kWrite ? whole(array) : some_span(array)});
  }

  // What a launch writes it reads, if at all, as an update.
  static void drop_reads(StepLaunch& launch, uint32_t array) {
    std::erase_if(launch.accesses, [&](const StepAccess& access) { return access.array == array; });
  }

  Random& random_;
  const int64_t reach_;
  Step step_;
  int64_t pool_bytes_ = 0;
  std::vector<uint32_t> readable_;
};

}  // namespace lane::test
