// Random problems for the planners' tests, each decided by its seed alone: launches on up to four streams, with waits
// between them, and arrays that launches touch.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cpp/planner/arena.h"

namespace lane::test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // A whole number from 0 to `below` - 1.
  int64_t below(int64_t below) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(below)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// Launches in an order of their own making: on each stream one after the other, and after those they wait for.
class RandomOrder {
 public:
  RandomOrder(Random& random, size_t streams, size_t launches) {
    std::array<std::vector<size_t>, kMaxStreams> of_stream;
    for (size_t l = 0; l < launches; ++l) {
      const size_t stream = static_cast<size_t>(random.below(static_cast<int64_t>(streams)));
      Launch launch{stream, of_stream[stream].size(), {}};
      if (!of_stream[stream].empty()) join(launch, launches_[of_stream[stream].back()]);
      while (l > 0 && random.one_in(2)) join(launch, launches_[static_cast<size_t>(random.below(int64_t(l)))]);
      of_stream[stream].push_back(l);
      launches_.push_back(launch);
    }
  }

  size_t size() const { return launches_.size(); }

  bool before(size_t a, size_t b) const {
    return launches_[b].after[launches_[a].stream] > static_cast<int64_t>(launches_[a].place);
  }

  // The life of an array that these launches touch.
  ArenaLife life(const std::vector<size_t>& touched) const {
    ArenaLife life;
    life.begin.fill(std::numeric_limits<int64_t>::max());
    for (const size_t l : touched) {
      const Launch& launch = launches_[l];
      for (size_t s = 0; s < kMaxStreams; ++s) life.begin[s] = std::min(life.begin[s], launch.after[s]);
      life.end[launch.stream] = std::max(life.end[launch.stream], static_cast<int64_t>(launch.place) + 1);
    }
    for (size_t s = 0; s < kMaxStreams; ++s) life.end[s] = std::max(life.end[s], life.begin[s]);
    return life;
  }

 private:
  struct Launch {
    size_t stream, place;                    // its place among its stream's
    std::array<int64_t, kMaxStreams> after;  // how many of each stream's come before it
  };

  static void join(Launch& launch, const Launch& earlier) {
    for (size_t s = 0; s < kMaxStreams; ++s) launch.after[s] = std::max(launch.after[s], earlier.after[s]);
    launch.after[earlier.stream] = std::max(launch.after[earlier.stream], static_cast<int64_t>(earlier.place) + 1);
  }

  std::vector<Launch> launches_;
};

// Arrays over a random order, and for the tests to decide by themselves which launches touch each.
struct RandomArena {
  ArenaProblem problem;
  RandomOrder order;
  std::vector<std::vector<size_t>> touched;  // by array

  bool apart(size_t a, size_t b) const {
    const auto all_before = [&](size_t x, size_t y) {
      return std::ranges::all_of(touched[x], [&](size_t l) {
        return std::ranges::all_of(touched[y], [&](size_t m) { return order.before(l, m); });
      });
    };
    return all_before(a, b) || all_before(b, a);
  }
};

inline RandomArena random_arena(uint64_t seed, size_t streams, size_t arrays, int64_t most_bytes) {
  Random random(seed);
  const int64_t launches = random.between(2, 2 + static_cast<int64_t>(arrays));
  RandomArena arena{{}, RandomOrder(random, streams, static_cast<size_t>(launches)), {}};
  arena.problem.streams = streams;
  for (size_t i = 0; i < arrays; ++i) {
    const int64_t first = random.below(launches);
    std::vector<size_t> touched{static_cast<size_t>(first)};
    while (first + 1 < launches && random.one_in(2)) {
      touched.push_back(static_cast<size_t>(random.between(first + 1, std::min(launches - 1, first + 6))));
    }
    arena.problem.arrays.push_back({"a" + std::to_string(i), random.between(1, most_bytes), arena.order.life(touched)});
    arena.touched.push_back(std::move(touched));
  }
  return arena;
}

}  // namespace lane::test
