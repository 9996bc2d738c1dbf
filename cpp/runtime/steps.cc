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
             std::span<const std::int64_t> rows) {
  for (const std::int64_t step : cut_steps(std::ssize(tokens), rows)) {
    device.set_inputs(tokens.first(static_cast<std::size_t>(step)), pos);
    device.run(step, 1);
    tokens = tokens.subspan(static_cast<std::size_t>(step));
    pos += step;
  }
}

void decode(StepDevice& device, std::int64_t steps) { device.run(1, steps); }

}  // namespace lane
