// How long a step takes on its streams, by the model of streams.h.
#include <algorithm>
#include <limits>

#include "cpp/planner/streams.h"

namespace lane {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Simulation {
 public:
  Simulation(const Step& step, const StreamPlan& plan, double event_us)
      : step_(step), plan_(plan), event_us_(event_us), end_us_(plan.issues.size(), kNever), queues_(plan.streams) {
    for (size_t i = 0; i < plan.issues.size(); ++i) queues_[plan.issues[i].stream].issues.push_back(i);
  }

  double run() {
    double end = 0;
    while (advance()) {
    }
    for (const double us : end_us_) end = std::max(end, us);
    for (const int64_t join : plan_.joins) end = std::max(end, end_us_[static_cast<size_t>(join)] + event_us_);
    return end;
  }

 private:
  struct Queue {
    std::vector<size_t> issues;
    size_t next = 0;     // the one that runs, or waits to
    double left_us = 0;  // of the one that runs, alone
    bool running = false;
  };

  const Issue& head(const Queue& queue) const { return plan_.issues[queue.issues[queue.next]]; }
  const StepLaunch& launch(const Queue& queue) const { return step_.launches[head(queue).launch]; }

  // When all that the head waits for is done and its events have arrived; kNever while one of them has not ended.
  double ready_us(const Queue& queue) const {
    double ready = 0;
    for (const int64_t wait : head(queue).waits) {
      ready = std::max(ready, (wait == kStepStart ? 0 : end_us_[static_cast<size_t>(wait)]) + event_us_);
    }
    return ready;
  }

  // Starts what is ready, runs to the next end or beginning, and says whether anything is left.
  bool advance() {
    double shares = 0, until = kNever;
    for (Queue& queue : queues_) {
      if (queue.next == queue.issues.size()) continue;
      if (!queue.running) {
        const double ready = ready_us(queue);
        if (ready > now_us_) {
          until = std::min(until, ready);
          continue;
        }
        queue.running = true;
        queue.left_us = launch(queue).alone_us;
      }
      shares += launch(queue).share;
    }
    const double slow = std::max(1.0, shares);
    for (const Queue& queue : queues_) {
      if (queue.running) until = std::min(until, now_us_ + queue.left_us * slow);
    }
    if (until == kNever) return false;
    for (Queue& queue : queues_) {
      if (queue.running) run_until(queue, until, slow);
    }
    now_us_ = until;
    return true;
  }

  void run_until(Queue& queue, double until, double slow) {
    const double end = now_us_ + queue.left_us * slow;
    queue.left_us -= (until - now_us_) / slow;
    if (end > until) return;
    end_us_[head(queue).launch] = until;
    queue.running = false;
    ++queue.next;
  }

  const Step& step_;
  const StreamPlan& plan_;
  const double event_us_;
  double now_us_ = 0;
  std::vector<double> end_us_;  // by launch
  std::vector<Queue> queues_;
};

}  // namespace

double simulate_us(const Step& step, const StreamPlan& plan, double event_us) {
  return Simulation(step, plan, event_us).run();
}

}  // namespace lane
