// A position in the bytes of one GGUF file, from which typed fields are taken in order. Nothing is read past the end,
// and a field that is not what it must be is refused by the object it belongs to, its name, the value found and the
// values allowed. All refusals of a file's contents have that one form:
//
//   checkpoint: "FILE": OBJECT: FIELD is FOUND; allowed: ALLOWED
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "cpp/runtime/error.h"

namespace lane {

// The object that is being read. An entry goes by its number until its name is known; the header has neither.
struct GgufPlace {
  static constexpr uint64_t kNoIndex = ~uint64_t{0};

  const char* what;
  uint64_t index = kNoIndex;
  std::string_view name = {};

  std::string text() const;
};

inline constexpr GgufPlace kGgufHeader = {"header"};

[[noreturn]] void refuse_gguf(ErrorKind kind, const std::string& path, const GgufPlace& place, const std::string& field,
                              const std::string& found, const std::string& allowed);

class GgufCursor {
 public:
  // `path` names the file in messages; it must outlive the cursor, as must the bytes.
  GgufCursor(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }
  uint64_t file_bytes() const { return bytes_.size(); }

  template <typename T>
  T take(const GgufPlace& place, const char* field) {
    T value;
    std::memcpy(&value, take_bytes(sizeof value, place, field).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take_bytes(uint64_t bytes, const GgufPlace& place, const char* field) {
    if (bytes > remaining()) refuse_truncated(bytes, place, field);
    const auto taken = bytes_.subspan(position_, bytes);
    position_ += bytes;
    return taken;
  }

  // A count of entries that take at least `min_entry_bytes` each: one that the file cannot hold is refused here,
  // before anything is allocated for it.
  uint64_t take_count(uint64_t min_entry_bytes, const GgufPlace& place, const char* field);

  // A length and that many bytes of UTF-8; a name has 1 to `max_bytes` of them.
  std::string_view take_string(const GgufPlace& place, const char* field);
  std::string_view take_name(uint64_t max_bytes, const GgufPlace& place, const char* field);

  [[noreturn]] void refuse(ErrorKind kind, const GgufPlace& place, const std::string& field, const std::string& found,
                           const std::string& allowed) const {
    refuse_gguf(kind, path_, place, field, found, allowed);
  }
  [[noreturn]] void malformed(const GgufPlace& place, const std::string& field, const std::string& found,
                              const std::string& allowed) const {
    refuse(ErrorKind::kCheckpoint, place, field, found, allowed);
  }

 private:
  [[noreturn]] void refuse_truncated(uint64_t bytes, const GgufPlace& place, const char* field) const;

  std::span<const std::byte> bytes_;
  const std::string& path_;
  size_t position_ = 0;
};

}  // namespace lane
