#include "cpp/runtime/steps.h"

#include <algorithm>
#include <functional>
#include <string>

#include "cpp/runtime/error.h"

namespace lane {
namespace {

[[noreturn]] void refuse(const std::string& what, std::int64_t found, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, "steps: " + what + ": found " + std::to_string(found) + ", allowed " + allowed);
}

// Gives the device the tokens step by step; `run(rows)` runs one over so many of them.
template <class Run>
void run_steps(StepDevice& device, StepRun left, std::span<const std::int64_t> forms, const StepHook& hook, Run run) {
  for (const std::int64_t rows : cut_steps(std::ssize(left.tokens), forms)) {
    const StepRun step = {left.pos, left.tokens.first(static_cast<std::size_t>(rows))};
    device.set_inputs(step.tokens, step.pos);
    run(rows);
    if (hook) hook(step);
    left = {left.pos + rows, left.tokens.subspan(static_cast<std::size_t>(rows))};
  }
}

}  // namespace

std::vector<std::int64_t> cut_steps(std::int64_t count, std::span<const std::int64_t> rows) {
  if (count < 0) refuse("tokens", count, "0 up");
  std::vector<std::int64_t> forms(rows.begin(), rows.end());
  std::ranges::sort(forms, std::ranges::greater{});
  const std::int64_t least = forms.empty() ? 0 : forms.back();
  if (least != 1) refuse("the fewest rows of a form", least, "1, the decode step's");
  std::vector<std::int64_t> steps;
  for (const std::int64_t form : forms) {
    steps.insert(steps.end(), static_cast<std::size_t>(count / form), form);
    count %= form;
  }
  return steps;
}

void prefill(StepDevice& device, std::span<const std::int32_t> tokens, std::int64_t pos,
             std::span<const std::int64_t> rows, const StepHook& hook) {
  run_steps(device, {pos, tokens}, rows, hook, [&](std::int64_t step) { device.run(step, 1); });
}

void prefill_all(StepDevice& device, std::span<const std::int32_t> tokens, std::int64_t pos,
                 std::span<const std::int64_t> rows, std::span<float> logits, const StepHook& hook) {
  if (tokens.empty()) return;
  if (logits.size() % tokens.size() != 0) {
    refuse("logits of " + std::to_string(tokens.size()) + " tokens", std::ssize(logits), "as many for each");
  }
  const std::size_t row_elems = logits.size() / tokens.size();
  run_steps(device, {pos, tokens}, rows, hook, [&](std::int64_t step) {
    const std::size_t elems = static_cast<std::size_t>(step) * row_elems;
    device.run_all(step, logits.first(elems));
    logits = logits.subspan(elems);
  });
}

void decode(StepDevice& device, std::int64_t steps, const StepHook& hook) {
  if (steps < 0) refuse("decode steps", steps, "0 up");
  if (!hook) {
    device.run(1, steps);
    return;
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int32_t token = device.token();
    const std::int64_t pos = device.position();
    device.run(1, 1);
    hook({pos, std::span(&token, 1)});
  }
}

}  // namespace lane
