// The CPU device as lane._core.CpuProgram: arrays by reference, everything else by value. The interpreter is free while
// a form runs. Views of the checkpoint's mapping are kept alive for as long as the program.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cpp/cpu/form.h"
#include "cpp/cpu/isa.h"
#include "cpp/cpu/measure.h"
#include "cpp/cpu/program.h"
#include "cpp/cpu/steps.h"
#include "lane_spec.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using lane::cpu::CpuProgram;
using lane::cpu::CpuSteps;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Tokens = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OwnedBytes = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

constexpr std::int64_t kNoState = -1;  // of forms that touch none

struct BoundProgram {
  CpuProgram program;
  std::vector<Bytes> matrices;  // what add_matrix was given: the mapping must stay
};

std::int64_t add_matrix(BoundProgram& bound, std::int64_t type_id, std::int64_t rows, std::int64_t cols,
                        const std::vector<std::tuple<Bytes, std::int64_t>>& runs) {
  std::vector<CpuProgram::Rows> plain;
  for (const auto& [bytes, count] : runs) {
    plain.push_back({bytes.data(), static_cast<std::int64_t>(bytes.size()), count});
  }
  const std::int64_t index = bound.program.add_matrix(type_id, rows, cols, plain);
  for (const auto& run : runs) bound.matrices.push_back(std::get<0>(run));
  return index;
}

lane::spec::Space space_of(std::int64_t space) {
  if (space < 0 || space >= std::ssize(lane::spec::kSpaceNames)) {
    throw nb::value_error(("space: found " + std::to_string(space) + ", allowed 0 to " +
                           std::to_string(std::ssize(lane::spec::kSpaceNames) - 1))
                              .c_str());
  }
  return static_cast<lane::spec::Space>(space);
}

void write_bytes(BoundProgram& bound, std::int64_t space, std::int64_t offset, const Bytes& bytes, std::int64_t state) {
  bound.program.write(space_of(space), state, offset, std::as_bytes(std::span(bytes.data(), bytes.size())));
}

OwnedBytes read_bytes(BoundProgram& bound, std::int64_t space, std::int64_t offset, std::int64_t count,
                      std::int64_t state) {
  auto owned = std::make_unique<std::vector<std::byte>>(bound.program.read(space_of(space), state, offset, count));
  std::byte* data = owned->data();
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  owned.release();
  return OwnedBytes(data, {static_cast<std::size_t>(count)}, owner);
}

std::span<const std::int64_t> words_of(const Table& table) {
  if (table.shape(1) != static_cast<std::size_t>(lane::spec::kTableColumns)) {
    throw nb::value_error(("cpu: table: found rows of " + std::to_string(table.shape(1)) + " words, allowed " +
                           std::to_string(lane::spec::kTableColumns))
                              .c_str());
  }
  return std::span(table.data(), table.size());
}

std::int64_t add_form(BoundProgram& bound, const Table& table, const Words& launches, std::int64_t arena_bytes) {
  return bound.program.add_form(words_of(table), std::span(launches.data(), launches.size()), arena_bytes);
}

std::vector<std::tuple<std::int64_t, std::int64_t>> cpu_needs(
    const Table& table, const Words& launches,
    const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>& matrices, std::int64_t numerics,
    int threads, const std::optional<std::string>& isa) {
  std::vector<lane::cpu::MatrixShape> shapes;
  for (const auto& [type_id, rows, cols] : matrices) shapes.push_back({type_id, rows, cols});
  const auto needs = lane::cpu::measure_form(words_of(table), std::span(launches.data(), launches.size()), shapes,
                                             numerics, threads, isa.value_or("auto"));
  std::vector<std::tuple<std::int64_t, std::int64_t>> plain;
  for (const lane::cpu::Needs& launch : needs) plain.emplace_back(launch.scratch_bytes, launch.thread_bytes);
  return plain;
}

std::vector<std::tuple<std::string, std::vector<std::string>>> cpu_kinds() {
  std::vector<std::tuple<std::string, std::vector<std::string>>> kinds;
  for (const lane::cpu::KindKernel& kernel : lane::cpu::kind_kernels()) {
    kinds.emplace_back(kernel.name, std::vector<std::string>(kernel.options.begin(), kernel.options.end()));
  }
  return kinds;
}

std::vector<CpuProgram::External> externals_of(const std::vector<Floats>& arrays) {
  std::vector<CpuProgram::External> externals;
  for (const Floats& array : arrays) externals.push_back({array.data(), static_cast<std::int64_t>(array.size())});
  return externals;
}

void run(BoundProgram& bound, std::int64_t form, const std::vector<Floats>& arrays, std::int64_t repeat,
         std::int64_t state) {
  const auto externals = externals_of(arrays);
  nb::gil_scoped_release release;
  bound.program.run(form, state, externals, repeat);
}

void run_launches(BoundProgram& bound, std::int64_t form, std::int64_t first, std::int64_t end,
                  const std::vector<Floats>& arrays, std::int64_t state) {
  const auto externals = externals_of(arrays);
  nb::gil_scoped_release release;
  bound.program.run_launches(form, state, externals, first, end);
}

std::vector<std::int64_t> profile(BoundProgram& bound, std::int64_t form, const std::vector<Floats>& arrays,
                                  std::int64_t state) {
  const auto externals = externals_of(arrays);
  nb::gil_scoped_release release;
  return bound.program.profile(form, state, externals);
}

using AfterStep = std::optional<std::function<void(std::int64_t, std::int64_t)>>;

// The driver's hook: position and rows of each step, to a function of Python's that may take the interpreter back.
lane::StepHook hook_of(const AfterStep& after) {
  if (!after) return {};
  return [&after](const lane::StepRun& step) {
    nb::gil_scoped_acquire acquire;
    (*after)(step.pos, std::ssize(step.tokens));
  };
}

void prefill(CpuSteps& steps, const Tokens& tokens, std::int64_t pos, std::int64_t most_rows, const AfterStep& after) {
  const auto rows = steps.rows(most_rows);
  nb::gil_scoped_release release;
  lane::prefill(steps, std::span(tokens.data(), tokens.size()), pos, rows, hook_of(after));
}

void prefill_all(CpuSteps& steps, const Tokens& tokens, std::int64_t pos, std::int64_t most_rows, const Floats& logits,
                 const AfterStep& after) {
  const auto rows = steps.rows_all(most_rows);
  nb::gil_scoped_release release;
  lane::prefill_all(steps, std::span(tokens.data(), tokens.size()), pos, rows, std::span(logits.data(), logits.size()),
                    hook_of(after));
}

void decode(CpuSteps& steps, std::int64_t count, const AfterStep& after) {
  nb::gil_scoped_release release;
  lane::decode(steps, count, hook_of(after));
}

void read_logits(CpuSteps& steps, const Floats& logits) { steps.read_logits(std::span(logits.data(), logits.size())); }

std::vector<std::string> cpu_isas() {
  std::vector<std::string> names;
  for (const lane::cpu::Isa isa : lane::cpu::available_isas()) names.emplace_back(lane::cpu::isa_name(isa));
  return names;
}

}  // namespace

void bind_cpu(nb::module_& m) {
  nb::class_<BoundProgram>(m, "CpuProgram", "Matrices, a pool and forms on the CPU. One call at a time.")
      .def(
          "__init__",
          [](BoundProgram* self, int threads, std::int64_t numerics, const std::optional<std::string>& isa) {
            new (self) BoundProgram{{threads, numerics, isa.value_or("auto")}, {}};
          },
          "threads"_a, "numerics"_a, "isa"_a = nb::none(),
          "`numerics`: the ordinal in lane.launch.record.Numerics. `isa`: one of cpu_isas(), or None for the fastest.")
      .def("add_matrix", add_matrix, "type_id"_a, "rows"_a, "cols"_a, "runs"_a,
           "The index of a matrix in place: ggml's type number, and runs of whole rows as (bytes, row count).")
      .def(
          "grow_pool", [](BoundProgram& b, std::int64_t bytes) { b.program.grow_pool(bytes); }, "bytes"_a,
          "A pool of at least so many bytes; what is new of it is zero.")
      .def(
          "grow_states", [](BoundProgram& b, std::int64_t bytes) { b.program.grow_states(bytes); }, "bytes"_a,
          "States of at least so many bytes; what is new of them is zero.")
      .def(
          "open_state", [](BoundProgram& b) { return b.program.open_state(); }, "The number of a new state, all zero.")
      .def(
          "close_state", [](BoundProgram& b, std::int64_t state) { b.program.close_state(state); }, "state"_a)
      .def("write", write_bytes, "space"_a, "offset"_a, "data"_a, "state"_a = kNoState,
           "`space`: the ordinal in lane.launch.table.Space, of the arena, the pool or a state.")
      .def("read", read_bytes, "space"_a, "offset"_a, "bytes"_a, "state"_a = kNoState)
      .def(
          "zero",
          [](BoundProgram& b, std::int64_t space, std::int64_t offset, std::int64_t bytes, std::int64_t state) {
            b.program.zero(space_of(space), state, offset, bytes);
          },
          "space"_a, "offset"_a, "bytes"_a, "state"_a = kNoState)
      .def("add_form", add_form, "table"_a, "launches"_a, "arena_bytes"_a,
           "The index of a form: its buffer table (lane.launch.table), and each launch's kind, scratch and record in "
           "one "
           "array (lane.launch.words).")
      .def("run", run, "form"_a, "externals"_a, "repeat"_a = 1, "state"_a = kNoState,
           "Runs a form `repeat` times on a state; writes `externals`.")
      .def("run_launches", run_launches, "form"_a, "first"_a, "end"_a, "externals"_a, "state"_a = kNoState,
           "Runs the launches [first, end) of a form once; the arena keeps what it holds from call to call.")
      .def("profile", profile, "form"_a, "externals"_a, "state"_a = kNoState,
           "Runs a form once: each launch's nanoseconds.")
      .def_prop_ro("scratch_bytes", [](const BoundProgram& b) { return b.program.scratch_bytes(); })
      .def_prop_ro("isa", [](const BoundProgram& b) { return lane::cpu::isa_name(b.program.isa()); })
      .def_prop_ro("threads", [](const BoundProgram& b) { return b.program.threads(); });
  nb::class_<CpuSteps>(m, "CpuSteps",
                       "Drives a program's forms on one state: prompts and decode steps. `after`, where it is given,\n"
                       "hears of each step once it has run: its position and its rows.")
      .def(
          "__init__",
          [](CpuSteps* self, BoundProgram& bound, std::int64_t state, std::int64_t token, std::int64_t tokens,
             std::int64_t pos, std::int64_t logits, std::int64_t vocab,
             const std::vector<std::tuple<std::int64_t, std::int64_t>>& carried) {
            lane::cpu::StepIo io{token, tokens, pos, logits, vocab, {}};
            for (const auto& [offset, bytes] : carried) io.carried.push_back({offset, bytes});
            new (self) CpuSteps(bound.program, state, std::move(io));
          },
          "program"_a, "state"_a, "token"_a, "tokens"_a, "pos"_a, "logits"_a = 0, "vocab"_a = 0,
          "carried"_a = std::vector<std::tuple<std::int64_t, std::int64_t>>(), nb::keep_alive<1, 2>(),
          "A state, and in it the offsets of the decode step's token, of a chunk's tokens, of the position and of the\n"
          "logits; how many those are; offset and bytes of what `reset` zeroes.")
      .def("add", &CpuSteps::add, "rows"_a, "form"_a, "Says which form has so many rows, and logits of the last.")
      .def("add_all", &CpuSteps::add_all, "rows"_a, "form"_a, "The same of a form with logits of all rows.")
      .def("reset", &CpuSteps::reset, "Forgets the sequence: the next position is 0.")
      .def("prefill", prefill, "tokens"_a, "pos"_a, "most_rows"_a, "after"_a = nb::none(),
           "Runs tokens from a position on, by the largest forms that fit, up to so many rows.")
      .def("prefill_all", prefill_all, "tokens"_a, "pos"_a, "most_rows"_a, "logits"_a, "after"_a = nb::none(),
           "The same with logits of every token, one row after the other in `logits`.")
      .def("decode", decode, "count"_a, "after"_a = nb::none(),
           "Runs the decode step, each time on the token that the step before chose.")
      .def(
          "set_inputs",
          [](CpuSteps& steps, const Tokens& tokens, std::int64_t pos) {
            steps.set_inputs(std::span(tokens.data(), tokens.size()), pos);
          },
          "tokens"_a, "pos"_a, "Gives the next step its tokens, one a row, and the position of the first.")
      .def("token", &CpuSteps::token, "The token that the last step chose.")
      .def("set_token", &CpuSteps::set_token, "token"_a, "Chooses the token that the next decode step takes.")
      .def("position", &CpuSteps::position, "The position of the next token.")
      .def("read_logits", read_logits, "logits"_a, "The last step's logits of its last row.");
  m.def("cpu_needs", cpu_needs, "table"_a, "launches"_a, "matrices"_a, "numerics"_a, "threads"_a, "isa"_a = nb::none(),
        "Of each launch of a form, as add_form takes it, the bytes of scratch and those for each thread. A matrix is "
        "ggml's type number, rows and columns.");
  m.def("cpu_kinds", cpu_kinds, "The launch kinds that have a kernel on the CPU, and the options that those take.");
  m.def("cpu_isas", cpu_isas, "The instruction sets that this machine runs, the fastest last.");
  m.def(
      "spec_hash", [] { return lane::spec::kHash; },
      "The hash of the launch records that the extension was built for.");
}
