// In: a lane::Error thrown by any bound function. Out: the Python exception of its kind, from lane.errors.
#include <nanobind/nanobind.h>

#include <exception>

#include "cpp/runtime/error.h"

namespace nb = nanobind;

namespace {

const char* class_name(lane::ErrorKind kind) {
  switch (kind) {
#define LANE_CLASS(kind, code, name) \
  case lane::ErrorKind::k##kind:     \
    return name;
    LANE_ERROR_KINDS(LANE_CLASS)
#undef LANE_CLASS
  }
  return "LaneError";
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (const lane::Error& error) {
      nb::object type = nb::module_::import_("lane.errors").attr(class_name(error.kind));
      PyErr_SetString(type.ptr(), error.what());
    }
  });
}
