// In: the bytes of one GGUF file (version 2 or 3, little-endian). Out: its metadata and tensors, typed, as views into
// those bytes. The bytes are not trusted: whatever parse_gguf_part returns lies inside them, is typed as it says,
// has unique keys and overlaps nothing; anything else is refused with the field, the value found and the value
// allowed. (That tensor names are unique is checked over all parts of a file, in gguf.h.) Time is that of a sort;
// memory is at most four times the bytes before the data section, and bounded where a count lies about them.
//
//   "GGUF" · version u32 · tensor count u64 · metadata count u64
//   · metadata: key string · kind u32 · value (array: element kind u32 · count u64 · elements)
//   · tensors:  name string · dimension count u32 · dimensions u64 · type u32 · offset u64
//   · padding to the alignment · data, each tensor at its offset from here
//   (a string: length u64 · bytes)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpp/runtime/ggml_types.h"

namespace lane {

enum class GgufKind : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

inline constexpr std::string_view kAlignmentKey = "general.alignment";

std::string_view kind_name(GgufKind kind);  // "u8", "string", ...

struct GgufValue {
  std::string_view key;
  GgufKind kind;  // of the value; of each element where it is an array
  bool is_array;
  uint64_t count;                      // elements, 1 where it is no array
  std::span<const std::byte> payload;  // the elements as the file holds them, unaligned
};

std::string describe_kind(const GgufValue& value);  // "u32", "array of 12 f32"

[[noreturn]] void refuse_changed(const GgufValue& value);

// A value of fixed size, read from an element's bytes. The caller has checked the kind.
template <typename T>
T element_of(const GgufValue& value, size_t index = 0) {
  T element;
  std::memcpy(&element, value.payload.data() + index * sizeof(T), sizeof(T));
  return element;
}

// Calls visit(std::string_view) for each string, in order. Throws a checkpoint error where they are no longer what
// was parsed, since the file changed.
template <typename Visit>
void for_each_string(const GgufValue& value, Visit&& visit) {
  const auto* at = reinterpret_cast<const char*>(value.payload.data());
  uint64_t left = value.payload.size();
  for (uint64_t i = 0; i < value.count; ++i) {
    uint64_t bytes = 0;
    if (left >= sizeof bytes) std::memcpy(&bytes, at, sizeof bytes);
    if (left < sizeof bytes || bytes > left - sizeof bytes) refuse_changed(value);
    visit(std::string_view(at + sizeof bytes, bytes));
    at += sizeof bytes + bytes;
    left -= sizeof bytes + bytes;
  }
}

// A single integer of any integer kind, if that is what the value is and it is not negative.
std::optional<uint64_t> unsigned_of(const GgufValue& value);

struct GgufTensor {
  std::string_view name;
  const GgmlType* type;
  uint32_t n_dims;               // 1 to 4
  uint32_t part;                 // the file of a split checkpoint that holds it
  std::array<uint64_t, 4> dims;  // innermost first, each at least 1; 1 past n_dims
  uint64_t offset;               // from the start of its part's data section
  uint64_t bytes;
  const std::byte* data;
};

struct GgufMetadata {
  std::vector<GgufValue> values;  // in the file's order
  std::vector<uint32_t> by_key;   // indices into values, sorted by key

  const GgufValue* find(std::string_view key) const;  // null if there is none
};

struct GgufPart {
  uint32_t version;
  uint64_t data_offset;  // where the data section starts
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // in the file's order
};

// `path` names the file in messages. Throws lane::Error: checkpoint for a malformed file, unsupported for a version,
// byte order, tensor type or nesting that may be well formed but is not read here.
GgufPart parse_gguf_part(std::span<const std::byte> bytes, const std::string& path);

}  // namespace lane
