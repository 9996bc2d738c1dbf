// A form's step as the planners and the checker see it: data only, plain numbers, no code that either would share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lane {

inline constexpr size_t kMaxStreams = 4;  // of a form, the step's own included

// Bytes of one array: `count` runs of `width` bytes, their beginnings `pitch` bytes apart, the first at `begin`.
struct ByteSpan {
  int64_t begin = 0;
  int64_t width = 0;
  int64_t pitch = 0;  // not read when there is one run; never below the width
  int64_t count = 1;

  int64_t end() const { return begin + (count - 1) * pitch + width; }
};

enum class Effect {
  kRead,
  kWrite,   // all of the span, whatever it held
  kUpdate,  // read and written in place, or written somewhere in the span: the rest keeps its values
};

struct StepAccess {
  uint32_t array;
  Effect effect;
  ByteSpan span;
};

struct StepLaunch {
  std::string name;  // for messages
  std::vector<StepAccess> accesses;
  double alone_us = 0;  // how long it takes with the device to itself
  double share = 1;     // the part of the device that it keeps busy meanwhile, 0 to 1
};

enum class Space {
  kArena,    // placed by the arena planner
  kPool,     // lives across steps, at a fixed offset of the pool
  kOutside,  // bound by the caller, or read in place from the checkpoint
};

struct StepArray {
  std::string name;  // for messages
  int64_t bytes = 0;
  Space space = Space::kArena;
  int64_t pool_offset = 0;    // in the pool
  bool holds_values = false;  // before the step: parameters, constants, carried state
  bool read_only = false;
};

// The launches are in program order: what the step computes is what they compute one after the other.
struct Step {
  std::vector<StepArray> arrays;
  std::vector<StepLaunch> launches;
};

// A wait for the step's own beginning, on its own stream.
inline constexpr int64_t kStepStart = -1;

// One launch as it is issued: it runs after those issued before it on its stream, and after those it waits for, each of
// which records an event.
struct Issue {
  uint32_t launch;
  uint32_t stream;             // 0 is the step's own
  std::vector<int64_t> waits;  // launches, or kStepStart
};

struct StreamPlan {
  size_t streams = 1;
  std::vector<Issue> issues;   // in the order in which they are issued
  std::vector<int64_t> joins;  // the launches that the step's stream waits for at its end
};

}  // namespace lane
