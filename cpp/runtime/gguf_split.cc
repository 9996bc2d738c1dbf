#include "cpp/runtime/gguf_split.h"

#include <algorithm>
#include <string_view>

#include "cpp/runtime/gguf_cursor.h"
#include "cpp/runtime/utf8.h"

namespace lane {
namespace {

constexpr std::string_view kSplitNo = "split.no";
constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitTensors = "split.tensors.count";
constexpr size_t kDigits = 5;

GgufPlace key_place(std::string_view key) { return {"key", GgufPlace::kNoIndex, key}; }

std::optional<uint64_t> number_of(std::string_view digits) {
  uint64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + static_cast<uint64_t>(c - '0');
  }
  return number;
}

std::string padded(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

bool is_signed(GgufKind kind) {
  return kind == GgufKind::kI8 || kind == GgufKind::kI16 || kind == GgufKind::kI32 || kind == GgufKind::kI64;
}

// The value of a split key, if the key is there; refused if it is not a number.
std::optional<uint64_t> split_value(const GgufMetadata& metadata, const std::string& path, std::string_view key) {
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<uint64_t> number = unsigned_of(*value);
  if (!number) {
    const bool negative = !value->is_array && is_signed(value->kind);
    refuse_gguf(ErrorKind::kCheckpoint, path, key_place(key), "value",
                (negative ? "a negative " : "of kind ") + describe_kind(*value), "a whole number from 0");
  }
  return number;
}

}  // namespace

std::string GgufSplitName::path_of(uint64_t part_number) const {
  return prefix + "-" + padded(part_number) + "-of-" + padded(count) + ".gguf";
}

std::optional<GgufSplitName> split_name_of(const std::string& path) {
  constexpr std::string_view kBetween = "-of-";
  constexpr std::string_view kEnd = ".gguf";
  constexpr size_t kTailBytes = 1 + kDigits + kBetween.size() + kDigits + kEnd.size();
  if (path.size() <= kTailBytes) return std::nullopt;
  const std::string_view tail = std::string_view(path).substr(path.size() - kTailBytes);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kBetween.size()) != kBetween || !tail.ends_with(kEnd)) {
    return std::nullopt;
  }
  const auto number = number_of(tail.substr(1, kDigits));
  const auto count = number_of(tail.substr(1 + kDigits + kBetween.size(), kDigits));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return GgufSplitName{path.substr(0, path.size() - kTailBytes), *number, *count};
}

uint64_t split_count_of(const GgufMetadata& metadata, const std::string& path) {
  const uint64_t index = split_value(metadata, path, kSplitNo).value_or(0);
  const uint64_t count = std::max<uint64_t>(split_value(metadata, path, kSplitCount).value_or(1), 1);
  const std::optional<GgufSplitName> name = split_name_of(path);
  if (index >= count) {
    refuse_gguf(ErrorKind::kCheckpoint, path, key_place(kSplitNo), "value", std::to_string(index),
                "below " + std::string(kSplitCount) + ", " + std::to_string(count));
  }
  if (count == 1 && (!name || name->count == 1)) return 1;
  if (index > 0 && (!name || name->count != count)) {
    refuse_gguf(ErrorKind::kUsage, path, key_place(kSplitNo), "file",
                "part " + std::to_string(index + 1) + " of " + std::to_string(count),
                "the first, \"NAME-" + padded(1) + "-of-" + padded(count) + ".gguf\", which opens all");
  }
  if (!name || name->count != count) {
    const std::string expected =
        count == 1 ? "one of a whole checkpoint" : "\"NAME-" + padded(index + 1) + "-of-" + padded(count) + ".gguf\"";
    refuse_gguf(ErrorKind::kCheckpoint, path, key_place(kSplitCount), "file's name", path_in_quotes(path),
                expected + ", as the key says " + std::to_string(count));
  }
  if (name->number != 1) {
    refuse_gguf(ErrorKind::kUsage, path, key_place(kSplitNo), "file",
                "part " + std::to_string(name->number) + " of " + std::to_string(count),
                "the first, " + path_in_quotes(name->path_of(1)) + ", which opens all");
  }
  return count;
}

void check_split_keys(const GgufMetadata& metadata, const std::string& path, uint64_t index, uint64_t count,
                      uint64_t tensors) {
  const auto check = [&](std::string_view key, uint64_t allowed) {
    const std::optional<uint64_t> value = split_value(metadata, path, key);
    if (value == allowed) return;
    refuse_gguf(ErrorKind::kCheckpoint, path, key_place(key), "value", value ? std::to_string(*value) : "missing",
                std::to_string(allowed));
  };
  check(kSplitNo, index);
  check(kSplitCount, count);
  check(kSplitTensors, tensors);
}

void check_later_metadata(const GgufMetadata& first, const GgufMetadata& later, const std::string& path) {
  for (const GgufValue& value : later.values) {
    if (value.key.starts_with("split.") || value.key == kAlignmentKey) continue;
    const GgufValue* other = first.find(value.key);
    if (other != nullptr && other->kind == value.kind && other->is_array == value.is_array &&
        std::ranges::equal(other->payload, value.payload)) {
      continue;
    }
    refuse_gguf(ErrorKind::kCheckpoint, path, key_place(value.key), "value",
                other == nullptr ? "missing from the first part" : "another than in the first part", "the same");
  }
}

}  // namespace lane
