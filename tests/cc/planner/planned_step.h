// A random step with a stream plan and an arena: what the checker's property tests plan, break and run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cpp/planner/arena.h"
#include "cpp/planner/check.h"
#include "cpp/planner/step_arena.h"
#include "cpp/planner/streams.h"
#include "tests/cc/planner/random_step.h"

namespace lane::test {

struct PlannedStep {
  Step step;
  StreamPlan streams;
  StepPlaces places;
};

// Places a step's arena as the planner does; `problem` may differ from the step's own where a test breaks it.
inline StepPlaces place(const Step& step, const StepArena& arena, int64_t pool_bytes, int64_t alignment_bytes) {
  const ArenaAnswer answer = plan_arena(arena.problem, arena_strategies());
  StepPlaces places{alignment_bytes, answer.total_bytes, pool_bytes, std::vector<int64_t>(step.arrays.size(), -1)};
  for (size_t i = 0; i < arena.arrays.size(); ++i) places.arena_offsets[arena.arrays[i]] = answer.offsets[i];
  return places;
}

// Streams are the planner's, or random ones, which overlap more.
inline StreamPlan random_streams(Random& random, const Step& step) {
  const auto most = static_cast<size_t>(random.between(1, kMaxStreams));
  if (random.one_in(2)) return plan_streams(step, {most, 0.1, -1e9});
  std::vector<uint32_t> streams;
  for (size_t i = 0; i < step.launches.size(); ++i) {
    const bool same = !streams.empty() && random.one_in(2);
    streams.push_back(same ? streams.back() : static_cast<uint32_t>(random.below(static_cast<int64_t>(most))));
  }
  return plan_on_streams(step, streams);
}

inline PlannedStep random_planned_step(uint64_t seed, int64_t launches) {
  Random random(seed);
  const RandomStep made(random, launches);
  PlannedStep planned{made.step(), random_streams(random, made.step()), {}};
  const int64_t alignment = random.one_in(2) ? 1 : kPoolAlignment;
  planned.places =
      place(planned.step, arena_of(planned.step, planned.streams, alignment), made.pool_bytes(), alignment);
  return planned;
}

inline std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text.append(fault_name(finding.fault)).append(": ").append(finding.text).append("\n");
  }
  return text;
}

}  // namespace lane::test
