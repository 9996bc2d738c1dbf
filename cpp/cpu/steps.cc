#include "cpp/cpu/steps.h"

#include <string>

#include "cpp/runtime/error.h"

namespace lane::cpu {

std::vector<std::int64_t> CpuSteps::rows(std::int64_t most) const {
  std::vector<std::int64_t> rows;
  for (const auto& [count, form] : forms_) {
    if (count <= most) rows.push_back(count);
  }
  return rows;
}

void CpuSteps::set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) {
  if (pos < 0 || pos > INT32_MAX) {
    throw Error(ErrorKind::kCapacity,
                "cpu: position: found " + std::to_string(pos) + ", allowed 0 to " + std::to_string(INT32_MAX));
  }
  const auto position = static_cast<std::int32_t>(pos);
  const std::int64_t to = tokens.size() == 1 ? io_.token : io_.tokens;
  program_.write(spec::Space::kState, state_, to, std::as_bytes(tokens));
  program_.write(spec::Space::kState, state_, io_.pos, std::as_bytes(std::span(&position, 1)));
}

void CpuSteps::run(std::int64_t rows, std::int64_t repeat) {
  const auto found = forms_.find(rows);
  if (found == forms_.end()) {
    throw Error(ErrorKind::kUsage,
                "cpu: a step of " + std::to_string(rows) + " rows: found no form of it, allowed one");
  }
  program_.run(found->second, state_, {}, repeat);
}

}  // namespace lane::cpu
