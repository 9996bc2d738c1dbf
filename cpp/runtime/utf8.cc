#include "cpp/runtime/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lane {
namespace {

constexpr size_t kQuotedBytes = 96;

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Bytes of the character that the text starts with, 0 if it is not well formed. The text is not empty.
size_t character_bytes(std::string_view text) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // a continuation, or an overlong form of two bytes
  if (lead < 0xE0) return text.size() >= 2 && is_continuation(at(1)) ? 2 : 0;
  if (lead < 0xF0) {
    if (text.size() < 3 || !is_continuation(at(1)) || !is_continuation(at(2))) return 0;
    if (lead == 0xE0 && at(1) < 0xA0) return 0;   // overlong
    if (lead == 0xED && at(1) >= 0xA0) return 0;  // a surrogate
    return 3;
  }
  if (lead > 0xF4 || text.size() < 4) return 0;
  if (!is_continuation(at(1)) || !is_continuation(at(2)) || !is_continuation(at(3))) return 0;
  if (lead == 0xF0 && at(1) < 0x90) return 0;   // overlong
  if (lead == 0xF4 && at(1) >= 0x90) return 0;  // past U+10FFFF
  return 4;
}

// C0 controls and DEL, and the C1 controls U+0080 to U+009F, which terminals obey as well.
bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

std::string quoted(std::string_view bytes, size_t most_bytes) {
  std::string out = "\"";
  size_t i = 0;
  while (i < bytes.size() && i < most_bytes) {
    const size_t width = character_bytes(bytes.substr(i));
    const std::string_view character = bytes.substr(i, width == 0 ? 1 : width);
    if (width == 0 || is_control(character)) {
      append_escaped(out, character);
    } else {
      if (character == "\"" || character == "\\") out += '\\';
      out += character;
    }
    i += character.size();
  }
  out += '"';
  if (i < bytes.size()) out += "... (" + std::to_string(bytes.size()) + " bytes)";
  return out;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    // Most text in a checkpoint is ASCII: eight bytes at a time as long as it lasts.
    while (i + 8 <= bytes.size()) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + i, 8);
      if (word & 0x8080808080808080u) break;
      i += 8;
    }
    while (i < bytes.size() && static_cast<unsigned char>(bytes[i]) < 0x80) ++i;
    if (i == bytes.size()) break;
    const size_t width = character_bytes(bytes.substr(i));
    if (width == 0) return false;
    i += width;
  }
  return true;
}

std::string in_quotes(std::string_view bytes) { return quoted(bytes, kQuotedBytes); }

std::string path_in_quotes(std::string_view path) { return quoted(path, path.size()); }

}  // namespace lane
