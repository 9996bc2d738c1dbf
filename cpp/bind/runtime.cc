// What a start does on any device, to Python: carving the pool, choosing what moves, cutting a prompt into steps.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <vector>

#include "cpp/runtime/pool.h"
#include "cpp/runtime/residence.h"
#include "cpp/runtime/steps.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::vector<int64_t> carve_pool(const std::vector<int64_t>& sizes, int64_t planned_bytes, int64_t alignment_bytes) {
  lane::PoolCarver carver(alignment_bytes);
  std::vector<int64_t> offsets;
  for (const int64_t bytes : sizes) offsets.push_back(carver.take(bytes));
  carver.finish(planned_bytes);
  return offsets;
}

}  // namespace

void bind_runtime(nb::module_& m) {
  m.def("carve_pool", &carve_pool, "sizes"_a, "planned_bytes"_a, "alignment_bytes"_a,
        "The offset of each part of a pool; LaneError unless they take exactly the bytes planned.");
  m.def(
      "choose_residence",
      [](const std::vector<int64_t>& matrix_bytes, int64_t arena_bytes, int64_t fixed_bytes, int64_t device_bytes) {
        const lane::Residence residence =
            lane::choose_residence(matrix_bytes, {arena_bytes, fixed_bytes, device_bytes});
        return std::tuple(residence.moved, residence.device_bytes, residence.host_bytes);
      },
      "matrix_bytes"_a, "arena_bytes"_a, "fixed_bytes"_a, "device_bytes"_a,
      "The matrices, given in the order in which they move, that do so for the rest to fit; the bytes then on the\n"
      "device, and in host memory.");
  m.def("budget_of_free", &lane::budget_of_free, "free_bytes"_a, "spare_bytes"_a,
        "The budget where none is given: what is free, less what captured graphs will take.");
  m.def(
      "cut_steps", [](int64_t count, const std::vector<int64_t>& rows) { return lane::cut_steps(count, rows); },
      "count"_a, "rows"_a,
      "Rows of the steps over `count` tokens by forms over so many rows: the largest that fit first.");
}
