// Every error that the C++ half raises on purpose: one class with a kind. The kinds are the classes of
// lane.errors, which the bindings raise in its place; an emitted program exits with the kind's exit code.
// A message names the stage, the object, the value found and the value allowed.
#pragma once

#include <stdexcept>
#include <string>

namespace lane {

enum class ErrorKind {
  kUsage = 2,        // a request that makes no sense
  kCheckpoint = 3,   // a file that is malformed, truncated, or lacks something it must have
  kUnsupported = 4,  // well formed, but not something that lane runs
  kCapacity = 5,     // does not fit
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind error_kind, const std::string& message) : std::runtime_error(message), kind(error_kind) {}

  int exit_code() const { return static_cast<int>(kind); }

  ErrorKind kind;
};

}  // namespace lane
