// The arena planner and the step that planners and checker share, to Python: problems are filled in by calls, answers
// read as numpy arrays and lists.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "cpp/planner/arena.h"
#include "cpp/planner/arena_text.h"
#include "cpp/planner/check.h"
#include "cpp/planner/check_places.h"
#include "cpp/planner/residence.h"
#include "cpp/planner/step.h"
#include "cpp/planner/step_arena.h"
#include "cpp/planner/streams.h"

namespace nb = nanobind;
using namespace nb::literals;
using lane::ArenaAnswer;
using lane::ArenaProblem;
using lane::Finding;
using lane::Step;
using lane::StreamPlan;

namespace {

using Interval = std::pair<int64_t, int64_t>;
using IssueTuple = std::tuple<uint32_t, uint32_t, std::vector<int64_t>>;

size_t add_array(ArenaProblem& problem, std::string name, int64_t bytes, const std::vector<Interval>& life) {
  if (life.size() != problem.streams) throw nb::value_error("add: one interval a stream");
  lane::ArenaArray array{std::move(name), bytes, {}};
  for (size_t s = 0; s < life.size(); ++s) {
    array.life.begin[s] = life[s].first;
    array.life.end[s] = life[s].second;
  }
  problem.arrays.push_back(std::move(array));
  return problem.arrays.size() - 1;
}

// The view's owner is the answer's Python object.
nb::ndarray<nb::numpy, const int64_t, nb::ndim<1>> offsets(nb::handle_t<ArenaAnswer> self) {
  const auto& values = nb::cast<const ArenaAnswer&>(self).offsets;
  return {values.data(), {values.size()}, self};
}

ArenaAnswer plan_arena(const ArenaProblem& problem, const std::vector<std::string>& strategies) {
  return lane::plan_arena(problem, strategies);
}

void bind_arena(nb::module_& m) {
  nb::class_<ArenaProblem>(m, "ArenaProblem", "Arrays to place in an arena, each with its life.")
      .def(
          "__init__",
          [](ArenaProblem* self, int64_t alignment_bytes, size_t streams) {
            new (self) ArenaProblem{alignment_bytes, streams, {}};
          },
          "alignment_bytes"_a, "streams"_a = 1)
      .def_static("of_text", &lane::arena_problem_of, "text"_a, "The problem that a text holds.")
      .def("add", &add_array, "name"_a, "bytes"_a, "life"_a,
           "Adds an array and gives its index. Its life is one interval of launches a stream, half-open: how many\n"
           "of the stream's launches come before every access, and one past its last access.")
      .def("text", [](const ArenaProblem& problem) { return lane::to_text(problem); })
      .def("__len__", [](const ArenaProblem& problem) { return problem.arrays.size(); });
  nb::class_<ArenaAnswer>(m, "ArenaAnswer", "Where each array lies.")
      .def_prop_ro("offsets", &offsets, nb::sig("def offsets(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "In bytes, by array.")
      .def_ro("total_bytes", &ArenaAnswer::total_bytes)
      .def_ro("lower_bound_bytes", &ArenaAnswer::lower_bound_bytes,
              "The heaviest set of arrays no two of which the order separates.")
      .def_ro("optimal", &ArenaAnswer::optimal, "Whether it is known to be the fewest bytes there can be.")
      .def_ro("strategy", &ArenaAnswer::strategy, "The strategy that found it.")
      .def(
          "text", [](const ArenaAnswer& answer, const ArenaProblem& problem) { return lane::to_text(problem, answer); },
          "problem"_a);
  m.def("arena_strategies", &lane::arena_strategies, "The strategies' names, in the order in which they are tried.");
  m.def("plan_arena", &plan_arena, "problem"_a, "strategies"_a, nb::call_guard<nb::gil_scoped_release>(),
        "The best placement that the strategies named find; they are tried until one meets the lower bound.");
}

template <typename Items>
auto& item_at(Items& items, size_t index, const char* what) {
  if (index >= items.size()) throw nb::index_error(what);
  return items[index];
}

void add_access(Step& step, size_t launch, uint32_t array, lane::Effect effect, int64_t begin, int64_t width,
                int64_t pitch, int64_t count) {
  item_at(step.arrays, array, "add_access: no such array");
  item_at(step.launches, launch, "add_access: no such launch")
      .accesses.push_back({array, effect, {begin, width, pitch, count}});
}

void bind_step(nb::module_& m) {
  nb::enum_<lane::Space>(m, "Space", "Where an array's bytes lie.")
      .value("ARENA", lane::Space::kArena)
      .value("POOL", lane::Space::kPool)
      .value("OUTSIDE", lane::Space::kOutside);
  nb::enum_<lane::Effect>(m, "Effect", "What an access does: UPDATE reads and writes, or writes somewhere in its span.")
      .value("READ", lane::Effect::kRead)
      .value("WRITE", lane::Effect::kWrite)
      .value("UPDATE", lane::Effect::kUpdate);
  nb::class_<Step>(m, "Step", "A form's step in plain numbers: arrays, and launches in program order.")
      .def(nb::init<>())
      .def(
          "add_array",
          [](Step& step, std::string name, int64_t bytes, lane::Space space, int64_t pool_offset, bool holds_values,
             bool read_only) {
            step.arrays.push_back({std::move(name), bytes, space, pool_offset, holds_values, read_only});
            return step.arrays.size() - 1;
          },
          "name"_a, "bytes"_a, "space"_a, "pool_offset"_a = 0, "holds_values"_a = false, "read_only"_a = false,
          "Adds an array and gives its index; `holds_values`: before the step.")
      .def(
          "add_launch",
          [](Step& step, std::string name, double alone_us, double share) {
            step.launches.push_back({std::move(name), {}, alone_us, share});
            return step.launches.size() - 1;
          },
          "name"_a, "alone_us"_a = 0.0, "share"_a = 1.0,
          "Adds a launch and gives its index; `share` is the part of the device that it keeps busy.")
      .def("add_access", &add_access, "launch"_a, "array"_a, "effect"_a, "begin"_a, "width"_a, "pitch"_a = 0,
           "count"_a = 1, "Adds an access to `count` runs of `width` bytes, `pitch` bytes apart, from `begin` on.")
      .def("arrays", [](const Step& step) { return step.arrays.size(); })
      .def("launches", [](const Step& step) { return step.launches.size(); });
}

void bind_streams(nb::module_& m) {
  nb::class_<StreamPlan>(m, "StreamPlan", "On which stream each launch runs, and for which others it waits.")
      .def(
          "__init__",
          [](StreamPlan* self, size_t streams, const std::vector<IssueTuple>& issues, std::vector<int64_t> joins) {
            new (self) StreamPlan{streams, {}, std::move(joins)};
            for (const auto& [launch, stream, waits] : issues) self->issues.push_back({launch, stream, waits});
          },
          "streams"_a, "issues"_a, "joins"_a)
      .def_ro("streams", &StreamPlan::streams)
      .def_ro("joins", &StreamPlan::joins, "The launches that the step's end waits for.")
      .def_prop_ro(
          "issues",
          [](const StreamPlan& plan) {
            std::vector<IssueTuple> issues;
            for (const lane::Issue& issue : plan.issues) issues.emplace_back(issue.launch, issue.stream, issue.waits);
            return issues;
          },
          "As issued: launch, stream, and the launches waited for (-1: the step's start).");
  m.def("one_stream", &lane::one_stream, "step"_a, "Every launch on the step's stream.");
  m.def(
      "plan_streams",
      [](const Step& step, size_t most_streams, double event_us, double least_gain) {
        return lane::plan_streams(step, {most_streams, event_us, least_gain});
      },
      "step"_a, "most_streams"_a, "event_us"_a, "least_gain"_a, nb::call_guard<nb::gil_scoped_release>(),
      "Side streams where the model gains at least the part `least_gain` of the step's time by them.");
  m.def("simulate_us", &lane::simulate_us, "step"_a, "plan"_a, "event_us"_a, "A step's time by the model.");
  m.def(
      "step_arena",
      [](const Step& step, const StreamPlan& plan, int64_t alignment_bytes) {
        lane::StepArena arena = lane::arena_of(step, plan, alignment_bytes);
        return std::pair(std::move(arena.problem), std::move(arena.arrays));
      },
      "step"_a, "plan"_a, "alignment_bytes"_a,
      "The arena problem under a stream plan, and the step's array of each of its arrays.");
}

void bind_check(nb::module_& m) {
  nb::class_<Finding>(m, "Finding", "Something wrong with a plan.")
      .def_prop_ro("fault", [](const Finding& finding) { return lane::fault_name(finding.fault); })
      .def_ro("text", &Finding::text)
      .def("__repr__", [](const Finding& finding) { return finding.text; });
  m.def(
      "check_plan",
      [](const Step& step, const StreamPlan& plan, int64_t alignment_bytes, int64_t arena_bytes, int64_t pool_bytes,
         std::vector<int64_t> arena_offsets) {
        return lane::check_plan(step, plan, {alignment_bytes, arena_bytes, pool_bytes, std::move(arena_offsets)});
      },
      "step"_a, "plan"_a, "alignment_bytes"_a, "arena_bytes"_a, "pool_bytes"_a, "arena_offsets"_a,
      nb::call_guard<nb::gil_scoped_release>(),
      "What is wrong with a plan: nothing, if it is sound. Offsets are by array of the step.");
  m.def(
      "check_pool",
      [](const std::vector<std::tuple<std::string, int64_t, int64_t>>& parts, int64_t pool_bytes,
         int64_t alignment_bytes) {
        std::vector<lane::PoolPart> list;
        for (const auto& [name, offset, bytes] : parts) list.push_back({name, offset, bytes});
        return lane::check_pool(std::move(list), pool_bytes, alignment_bytes);
      },
      "parts"_a, "pool_bytes"_a, "alignment_bytes"_a,
      "What is wrong with a pool of parts (name, offset, bytes): nothing, if they fill it and share no byte.");
}

void bind_residence(nb::module_& m) {
  m.def(
      "order_to_move",
      [](const std::vector<std::tuple<std::string, int64_t, double>>& tuples) {
        std::vector<lane::MovableMatrix> matrices;
        for (const auto& [name, bytes, read_bytes] : tuples) matrices.push_back({name, bytes, read_bytes});
        return lane::order_to_move(matrices);
      },
      "matrices"_a,
      "The order in which matrices (name, bytes, bytes read of it by a decode step) move to host memory.");
}

}  // namespace

void bind_planner(nb::module_& m) {
  bind_arena(m);
  bind_step(m);
  bind_streams(m);
  bind_check(m);
  bind_residence(m);
}
