// Every error that the C++ half raises on purpose: one class with a kind. The kinds are the classes of lane.errors,
// which declares them once: the bindings raise the class in an error's place, an emitted program exits with the kind's
// code, and the C interface returns it. A message names the stage, the object, the value found and the value allowed.
#pragma once

#include <stdexcept>
#include <string>

#include "lane_errors.h"

namespace lane {

#define LANE_KIND(kind, code, name) k##kind = code,
enum class ErrorKind { LANE_ERROR_KINDS(LANE_KIND) };
#undef LANE_KIND

class Error : public std::runtime_error {
 public:
  Error(ErrorKind error_kind, const std::string& message) : std::runtime_error(message), kind(error_kind) {}

  int exit_code() const { return static_cast<int>(kind); }

  ErrorKind kind;
};

}  // namespace lane
