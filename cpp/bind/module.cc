// The extension lane._core: each part of the C++ half binds itself, in its own file of this folder.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_cpu(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_gguf(nb::module_& m);
void bind_planner(nb::module_& m);
void bind_runtime(nb::module_& m);

NB_MODULE(_core, m) {
  m.doc() = "The C++ half of lane.";
  // What a script still holds when the interpreter ends goes with the process: nothing to warn its user about.
  nb::set_leak_warnings(false);
  bind_cpu(m);
  bind_errors(m);
  bind_gguf(m);
  bind_planner(m);
  bind_runtime(m);
}
