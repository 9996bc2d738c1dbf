// The planners of cpp/planner, to Python: problems are filled in by calls, answers read as numpy arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "cpp/planner/arena.h"

namespace nb = nanobind;
using namespace nb::literals;
using lane::ArenaAnswer;
using lane::ArenaProblem;

namespace {

size_t add_array(ArenaProblem& problem, int64_t bytes, int64_t begin, int64_t end) {
  problem.arrays.push_back({bytes, begin, end});
  return problem.arrays.size() - 1;
}

// The view's owner is the answer's Python object.
nb::ndarray<nb::numpy, const int64_t, nb::ndim<1>> offsets(nb::handle_t<ArenaAnswer> self) {
  const auto& values = nb::cast<const ArenaAnswer&>(self).offsets;
  return {values.data(), {values.size()}, self};
}

void bind_arena(nb::module_& m) {
  nb::class_<ArenaProblem>(m, "ArenaProblem", "Arrays to place in an arena, each live over an interval of launches.")
      .def(
          "__init__",
          [](ArenaProblem* self, int64_t alignment_bytes) {
            new (self) ArenaProblem{alignment_bytes, {}};
          },
          "alignment_bytes"_a)
      .def("add", &add_array, "bytes"_a, "begin"_a, "end"_a,
           "Adds an array that is live over the launches [begin, end) and gives its index.")
      .def("__len__", [](const ArenaProblem& problem) { return problem.arrays.size(); });
  nb::class_<ArenaAnswer>(m, "ArenaAnswer", "Where each array lies.")
      .def_prop_ro("offsets", &offsets, nb::sig("def offsets(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "In bytes, by array.")
      .def_ro("total_bytes", &ArenaAnswer::total_bytes)
      .def_ro("lower_bound_bytes", &ArenaAnswer::lower_bound_bytes, "The most aligned bytes live at once.");
  m.def("plan_arena", &lane::plan_arena, "problem"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Places arrays such that those live at one time share no byte.");
}

}  // namespace

void bind_planner(nb::module_& m) { bind_arena(m); }
