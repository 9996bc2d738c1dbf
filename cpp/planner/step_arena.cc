#include "cpp/planner/step_arena.h"

#include <algorithm>
#include <optional>

#include "cpp/planner/clocks.h"

namespace lane {

StepArena arena_of(const Step& step, const StreamPlan& plan, int64_t alignment_bytes) {
  const Clocks clocks(plan);
  std::vector<std::optional<ArenaLife>> lives(step.arrays.size());
  for (uint32_t launch = 0; launch < step.launches.size(); ++launch) {
    const uint32_t stream = clocks.stream(launch);
    for (const StepAccess& access : step.launches[launch].accesses) {
      auto& life = lives[access.array];
      if (!life) life = {clocks.before(launch), {}};
      for (size_t s = 0; s < kMaxStreams; ++s) life->begin[s] = std::min(life->begin[s], clocks.before(launch)[s]);
      life->end[stream] = std::max(life->end[stream], clocks.place(launch) + 1);
    }
  }
  StepArena arena{{alignment_bytes, plan.streams, {}}, {}};
  for (uint32_t i = 0; i < step.arrays.size(); ++i) {
    if (step.arrays[i].space != Space::kArena || !lives[i]) continue;
    for (size_t s = 0; s < kMaxStreams; ++s) lives[i]->end[s] = std::max(lives[i]->end[s], lives[i]->begin[s]);
    arena.problem.arrays.push_back({step.arrays[i].name, step.arrays[i].bytes, *lives[i]});
    arena.arrays.push_back(i);
  }
  return arena;
}

}  // namespace lane
