#include "cpp/runtime/gguf_cursor.h"

#include "cpp/runtime/utf8.h"

namespace lane {
namespace {

std::string at_most(uint64_t left) { return "at most " + std::to_string(left) + ", where the file ends"; }

}  // namespace

std::string GgufPlace::text() const {
  if (!name.empty()) return std::string(what) + " " + in_quotes(name);
  return index == kNoIndex ? what : std::string(what) + " " + std::to_string(index);
}

void refuse_gguf(ErrorKind kind, const std::string& path, const GgufPlace& place, const std::string& field,
                 const std::string& found, const std::string& allowed) {
  throw Error(kind, "checkpoint: " + path_in_quotes(path) + ": " + place.text() + ": " + field + " is " + found +
                        "; allowed: " + allowed);
}

void GgufCursor::refuse_truncated(uint64_t bytes, const GgufPlace& place, const char* field) const {
  malformed(place, std::string(field) + " at byte " + std::to_string(position_),
            "truncated: it takes " + std::to_string(bytes) + " bytes", at_most(remaining()));
}

uint64_t GgufCursor::take_count(uint64_t min_entry_bytes, const GgufPlace& place, const char* field) {
  const auto count = take<uint64_t>(place, field);
  const uint64_t most = remaining() / min_entry_bytes;
  if (count > most) malformed(place, field, std::to_string(count), at_most(most));
  return count;
}

std::string_view GgufCursor::take_string(const GgufPlace& place, const char* field) {
  const auto length = take<uint64_t>(place, field);
  if (length > remaining()) {
    malformed(place, std::string(field) + " length", std::to_string(length), at_most(remaining()));
  }
  const auto bytes = take_bytes(length, place, field);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!is_utf8(text)) malformed(place, field, in_quotes(text), "UTF-8");
  return text;
}

std::string_view GgufCursor::take_name(uint64_t max_bytes, const GgufPlace& place, const char* field) {
  const std::string_view name = take_string(place, field);
  if (name.empty() || name.size() > max_bytes) {
    malformed(place, std::string(field) + " length", std::to_string(name.size()), "1 to " + std::to_string(max_bytes));
  }
  return name;
}

}  // namespace lane
