// The time to plan and check random steps of up to 20,000 launches: `bazel run -c opt //bench:planning`.
//
// In: nothing. Out: processor seconds of the stream planner, the arena planner and the checker, for steps of 5,000,
// 10,000 and 20,000 launches on 1, 2 and 4 streams; in proportion to the launches, they double from row to row.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include "tests/cc/planner/planned_step.h"

namespace lane::test {
namespace {

// Processor seconds since the last call.
class Stopwatch {
 public:
  double lap() {
    const std::clock_t now = std::clock(), last = last_;
    last_ = now;
    return static_cast<double>(now - last) / CLOCKS_PER_SEC;
  }

 private:
  std::clock_t last_ = std::clock();
};

// False if the checker finds fault.
bool print_row(int64_t launches, size_t streams) {
  Random random(static_cast<uint64_t>(launches));
  const RandomStep made(random, launches, 20);
  Stopwatch watch;
  const StreamPlan plan = plan_streams(made.step(), {streams, 0.1, -1e9});
  const double streams_s = watch.lap();
  const StepPlaces places = place(made.step(), arena_of(made.step(), plan, 4), made.pool_bytes(), 4);
  const double arena_s = watch.lap();
  const std::vector<Finding> findings = check_plan(made.step(), plan, places);
  const double check_s = watch.lap();
  std::printf("%8lld %8zu %10.3f %10.3f %10.3f %10.3f\n", static_cast<long long>(launches), plan.streams, streams_s,
              arena_s, check_s, streams_s + arena_s + check_s);
  return findings.empty();
}

}  // namespace
}  // namespace lane::test

int main() {
  std::printf("%8s %8s %10s %10s %10s %10s\n", "launches", "streams", "streams s", "arena s", "check s", "all s");
  bool good = true;
  for (const size_t streams : {1, 2, 4}) {
    for (const int64_t launches : {5'000, 10'000, 20'000}) good = lane::test::print_row(launches, streams) && good;
  }
  return good ? 0 : 1;
}
