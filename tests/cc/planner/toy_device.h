// A toy device: runs a step's launches in any order that a stream plan allows, and says whether each still read what it
// reads in program order.
//
// A byte holds a number that names its writer and all that the writer had read. A launch runs in three phases, between
// which any other that the plan does not order may run: it scribbles over what it is to write whole, as a kernel whose
// blocks finish in any order may; it reads; it writes. Before the step and after it the arena is someone else's, whose
// bytes must stay: the step's start takes the arena and gives parameters and state their values, its end reads the
// state. The order is the plan's alone: streams, and waits for launches issued before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "cpp/planner/check.h"
#include "cpp/planner/step.h"
#include "tests/cc/planner/random_order.h"

namespace lane::test {

class ToyDevice {
 public:
  static constexpr size_t kMostLaunches = 62;
  enum Phase { kScribble, kRead, kWrite, kPhases };
  struct Action {
    size_t node;
    Phase phase;
  };

  ToyDevice(const Step& step, const StreamPlan& plan, const StepPlaces& places)
      : step_(step), places_(places), start_(step.launches.size()), end_(start_ + 1), before_(end_ + 1, 0) {
    read_plan(plan);
    read_in_program_order();
  }

  // Whether some order tried makes a launch read, or the step leave behind, something else than program order does.
  bool goes_wrong(Random& random, int random_orders) {
    if (!places_hold()) return true;
    return orders(random, random_orders, [&](const std::vector<Action>& order) { return !runs_right(order); });
  }

 private:
  using Cells = std::vector<uint64_t>;
  using Try = std::function<bool(const std::vector<Action>&)>;
  static constexpr uint64_t kForeign = 0x1234567;

  static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
  }

  // --- the order -----------------------------------------------------------------------------------------------------

  uint64_t bit(size_t node) const { return uint64_t{1} << node; }

  void follow(size_t node, size_t earlier) { before_[node] |= before_[earlier] | bit(earlier); }

  void read_plan(const StreamPlan& plan) {
    std::vector<size_t> last(plan.streams, kNone);
    last[0] = start_;
    std::vector<bool> recorded(step_.launches.size(), false);
    nodes_.push_back(start_);
    for (const Issue& issue : plan.issues) {
      if (last[issue.stream] != kNone) follow(issue.launch, last[issue.stream]);
      for (const int64_t wait : issue.waits) {
        if (wait == kStepStart) follow(issue.launch, start_);
        if (wait >= 0 && recorded[static_cast<size_t>(wait)]) follow(issue.launch, static_cast<size_t>(wait));
      }
      last[issue.stream] = issue.launch;
      recorded[issue.launch] = true;
      nodes_.push_back(issue.launch);
    }
    follow(end_, last[0]);
    for (const int64_t join : plan.joins) follow(end_, static_cast<size_t>(join));
    nodes_.push_back(end_);
  }

  // Calls attempt(order) for orders made to break a plan, until one says that it did.
  bool orders(Random& random, int random_orders, const Try& attempt) const {
    for (const size_t x : nodes_) {
      for (const uint64_t early : {0u, 1u, 3u, 7u}) {
        if (attempt(stretched(x, early))) return true;
      }
      for (const size_t y : nodes_) {
        if (x != y && attempt(first_these(x, y))) return true;
      }
    }
    for (int i = 0; i < random_orders; ++i) {
      if (attempt(shuffled(random))) return true;
    }
    return false;
  }

  void run_all(size_t node, std::vector<Action>& order) const {
    for (const Phase phase : {kScribble, kRead, kWrite}) order.push_back({node, phase});
  }

  void run_set(uint64_t nodes, std::vector<Action>& order) const {
    for (const size_t node : nodes_) {
      if (nodes & bit(node)) run_all(node, order);
    }
  }

  uint64_t all() const { return (bit(end_) << 1) - 1; }

  uint64_t after(size_t node) const {
    uint64_t set = 0;
    for (const size_t other : nodes_) set |= before_[other] & bit(node) ? bit(other) : 0;
    return set;
  }

  // The phases of x in `early` as soon as they may run, the others as late as they may.
  std::vector<Action> stretched(size_t x, uint64_t early) const {
    std::vector<Action> order;
    const uint64_t later = after(x);
    run_set(before_[x], order);
    for (const Phase phase : {kScribble, kRead, kWrite}) {
      if (early & (1u << phase)) order.push_back({x, phase});
    }
    run_set(all() & ~(before_[x] | later | bit(x)), order);
    for (const Phase phase : {kScribble, kRead, kWrite}) {
      if (!(early & (1u << phase))) order.push_back({x, phase});
    }
    run_set(later, order);
    return order;
  }

  // x as soon as it may run, then y as soon as it may, then the rest.
  std::vector<Action> first_these(size_t x, size_t y) const {
    std::vector<Action> order;
    const uint64_t first = before_[x] | bit(x), second = (before_[y] | bit(y)) & ~first;
    run_set(first, order);
    run_set(second, order);
    run_set(all() & ~(first | second), order);
    return order;
  }

  std::vector<Action> shuffled(Random& random) const {
    std::vector<Action> order;
    std::vector<Action> ready;
    uint64_t done = 0, seen = 0;
    while (done != all()) {
      for (const size_t node : nodes_) {
        if (seen & bit(node) || (before_[node] & done) != before_[node]) continue;
        ready.push_back({node, kScribble});
        seen |= bit(node);
      }
      const auto pick = static_cast<size_t>(random.below(static_cast<int64_t>(ready.size())));
      const Action action = ready[pick];
      order.push_back(action);
      if (action.phase == kWrite) {
        done |= bit(action.node);
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
      } else {
        ready[pick].phase = static_cast<Phase>(action.phase + 1);
      }
    }
    return order;
  }

  // --- running -------------------------------------------------------------------------------------------------------

  bool places_hold() const {
    for (size_t i = 0; i < step_.arrays.size(); ++i) {
      const StepArray& array = step_.arrays[i];
      if (array.space != Space::kArena || !touched(i)) continue;
      const int64_t offset = places_.arena_offsets[i];
      if (offset < 0 || offset + array.bytes > places_.arena_bytes) return false;
    }
    return true;
  }

  bool touched(size_t array) const {
    return std::ranges::any_of(step_.launches, [&](const StepLaunch& launch) {
      return std::ranges::any_of(launch.accesses, [&](const StepAccess& access) { return access.array == array; });
    });
  }

  template <typename Visit>
  static void for_each_byte(const ByteSpan& span, const Visit& visit) {
    for (int64_t i = 0; i < span.count; ++i) {
      for (int64_t b = 0; b < span.width; ++b) visit(span.begin + i * span.pitch + b);
    }
  }

  struct State {
    Cells arena, pool, seen;  // seen: by node, what it read
  };

  // Program order with no two arrays sharing a byte gives what every order must give.
  void read_in_program_order() {
    int64_t bytes = 0;
    for (const StepArray& array : step_.arrays) {
      apart_.push_back(bytes);
      bytes += array.space == Space::kArena ? array.bytes : 0;
    }
    State state = fresh(bytes);
    std::vector<Action> order;
    run_all(start_, order);
    for (size_t launch = 0; launch < step_.launches.size(); ++launch) run_all(launch, order);
    run_all(end_, order);
    for (const Action& action : order) act(action, apart_, state);
    wanted_ = state.seen;
  }

  State fresh(int64_t arena_bytes) const {
    return {Cells(static_cast<size_t>(arena_bytes), kForeign), Cells(static_cast<size_t>(places_.pool_bytes), kForeign),
            Cells(end_ + 1, 0)};
  }

  static bool is_foreign(const State& state) {
    const auto foreign = [](uint64_t cell) { return cell == kForeign; };
    return std::ranges::all_of(state.arena, foreign) && std::ranges::all_of(state.pool, foreign);
  }

  bool runs_right(const std::vector<Action>& order) {
    State state = fresh(places_.arena_bytes);
    for (const Action& action : order) {
      act(action, places_.arena_offsets, state);
      if (action.phase == kRead && state.seen[action.node] != wanted_[action.node]) return false;
    }
    return is_foreign(state);  // what runs after the step's end leaves the next owner's bytes alone
  }

  uint64_t& cell(const StepAccess& access, int64_t byte, const std::vector<int64_t>& offsets, State& state) const {
    const StepArray& array = step_.arrays[access.array];
    return array.space == Space::kArena ? state.arena[static_cast<size_t>(offsets[access.array] + byte)]
                                        : state.pool[static_cast<size_t>(array.pool_offset + byte)];
  }

  void act(const Action& action, const std::vector<int64_t>& offsets, State& state) const {
    if (action.node == start_) return start(action.phase, state);
    if (action.node == end_) return finish(action.phase, state);
    uint64_t& seen = state.seen[action.node];
    for (const StepAccess& access : step_.launches[action.node].accesses) {
      if (action.phase == kScribble && access.effect == Effect::kWrite) {
        for_each_byte(access.span, [&](int64_t b) { cell(access, b, offsets, state) = mix(action.node, 77); });
      } else if (action.phase == kRead && access.effect != Effect::kWrite) {
        for_each_byte(access.span, [&](int64_t b) { seen = mix(seen, cell(access, b, offsets, state)); });
      } else if (action.phase == kWrite && access.effect != Effect::kRead) {
        const uint64_t result = mix(seen, action.node);
        for_each_byte(access.span, [&](int64_t b) {
          cell(access, b, offsets, state) = mix(result, static_cast<uint64_t>(b + 1000 * int64_t(access.array)));
        });
      }
    }
  }

  void start(Phase phase, State& state) const {
    if (phase == kRead) {
      state.seen[start_] = is_foreign(state);  // what runs before the step's start leaves the last owner's alone
    } else if (phase == kWrite) {
      for (size_t i = 0; i < state.arena.size(); ++i) state.arena[i] = mix(i, 5);
      for (size_t i = 0; i < state.pool.size(); ++i) state.pool[i] = mix(i, 9);
    }
  }

  void finish(Phase phase, State& state) const {
    if (phase == kRead) {
      for (const uint64_t cell : state.pool) state.seen[end_] = mix(state.seen[end_], cell);
    } else if (phase == kWrite) {
      std::ranges::fill(state.arena, kForeign);
      std::ranges::fill(state.pool, kForeign);
    }
  }

  static constexpr size_t kNone = ~size_t{0};

  const Step& step_;
  const StepPlaces& places_;
  const size_t start_, end_;      // nodes beside the launches
  std::vector<size_t> nodes_;     // as issued
  std::vector<uint64_t> before_;  // by node: those that come before it
  std::vector<int64_t> apart_;    // by array: an offset at which it shares no byte
  Cells wanted_;                  // by node
};

}  // namespace lane::test
