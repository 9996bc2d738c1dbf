// The planners of cpp/planner, to Python: problems are filled in by calls, answers read as numpy arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "cpp/planner/arena.h"
#include "cpp/planner/arena_text.h"

namespace nb = nanobind;
using namespace nb::literals;
using lane::ArenaAnswer;
using lane::ArenaProblem;

namespace {

using Interval = std::pair<int64_t, int64_t>;

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
      .def_ro("strategy", &ArenaAnswer::strategy, "The strategy that found it.")
      .def(
          "text",
          [](const ArenaAnswer& answer, const ArenaProblem& problem) { return lane::to_text(problem, answer); },
          "problem"_a);
  m.def("arena_strategies", &lane::arena_strategies, "The strategies' names, in the order in which they are tried.");
  m.def("plan_arena", &plan_arena, "problem"_a, "strategies"_a, nb::call_guard<nb::gil_scoped_release>(),
        "The best placement that the strategies named find; they are tried until one meets the lower bound.");
}

}  // namespace

void bind_planner(nb::module_& m) { bind_arena(m); }
