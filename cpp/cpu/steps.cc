#include "cpp/cpu/steps.h"

#include <cstring>
#include <string>

#include "cpp/runtime/error.h"

namespace lane::cpu {

std::vector<std::int64_t> CpuSteps::rows_of(const Forms& forms, std::int64_t most) {
  std::vector<std::int64_t> rows;
  for (const auto& [count, form] : forms) {
    if (count <= most) rows.push_back(count);
  }
  return rows;
}

std::vector<std::int64_t> CpuSteps::rows_all(std::int64_t most) const {
  std::vector<std::int64_t> rows = rows_of(all_, most);
  if (last_.contains(1) && most >= 1) rows.push_back(1);
  return rows;
}

std::int64_t CpuSteps::form_of(const Forms& forms, std::int64_t rows) {
  const auto found = forms.find(rows);
  if (found != forms.end()) return found->second;
  throw Error(ErrorKind::kUsage, "cpu: a step of " + std::to_string(rows) + " rows: found no form of it, allowed one");
}

std::int32_t CpuSteps::read_i32(std::int64_t offset) {
  std::int32_t value;
  std::memcpy(&value, program_.read(spec::Space::kState, state_, offset, sizeof value).data(), sizeof value);
  return value;
}

void CpuSteps::write_i32(std::int64_t offset, std::span<const std::int32_t> values) {
  program_.write(spec::Space::kState, state_, offset, std::as_bytes(values));
}

void CpuSteps::reset() {
  for (const StateRange& range : io_.carried) program_.zero(spec::Space::kState, state_, range.offset, range.bytes);
  const std::int32_t start = 0;
  write_i32(io_.pos, std::span(&start, 1));
}

void CpuSteps::set_inputs(std::span<const std::int32_t> tokens, std::int64_t pos) {
  if (pos < 0 || pos > INT32_MAX) {
    throw Error(ErrorKind::kCapacity,
                "cpu: position: found " + std::to_string(pos) + ", allowed 0 to " + std::to_string(INT32_MAX));
  }
  const auto position = static_cast<std::int32_t>(pos);
  write_i32(tokens.size() == 1 ? io_.token : io_.tokens, tokens);
  write_i32(io_.pos, std::span(&position, 1));
}

void CpuSteps::run(std::int64_t rows, std::int64_t repeat) { program_.run(form_of(last_, rows), state_, {}, repeat); }

void CpuSteps::run_all(std::int64_t rows, std::span<float> logits) {
  if (rows == 1) {
    run(1, 1);
    return read_logits(logits);
  }
  program_.run(form_of(all_, rows), state_, {{logits.data(), std::ssize(logits)}});
}

void CpuSteps::read_logits(std::span<float> logits) {
  if (std::ssize(logits) > io_.vocab) {
    throw Error(ErrorKind::kUsage, "cpu: logits: found room for " + std::to_string(logits.size()) + ", allowed up to " +
                                       std::to_string(io_.vocab));
  }
  const std::int64_t bytes = std::ssize(logits) * static_cast<std::int64_t>(sizeof(float));
  const std::vector<std::byte> found = program_.read(spec::Space::kState, state_, io_.logits, bytes);
  if (!found.empty()) std::memcpy(logits.data(), found.data(), found.size());
}

}  // namespace lane::cpu
