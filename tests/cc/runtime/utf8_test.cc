// UTF-8: every code point's encoding is taken, and nothing else is.
#include "cpp/runtime/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lane {
namespace {

// The encoding that RFC 3629 gives a code point.
std::string encoded(uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointButSurrogates) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    ASSERT_EQ(is_utf8(encoded(code)), !surrogate) << code;
  }
  EXPECT_FALSE(is_utf8(encoded(0x110000)));
}

// All strings of up to three bytes, which is where all of the grammar's conditions are but the fourth byte's range:
// those that are UTF-8 are exactly the concatenations of encodings.
TEST(Utf8, EveryStringOfUpToThreeBytes) {
  const auto number_of = [](std::string_view text) {
    uint32_t number = 0;
    for (const char c : text) number = number << 8 | static_cast<unsigned char>(c);
    return number;
  };
  std::vector<bool> is_character[4] = {
      {}, std::vector<bool>(1 << 8), std::vector<bool>(1 << 16), std::vector<bool>(1 << 24)};
  for (uint32_t code = 0; code < 0x10000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string character = encoded(code);
    is_character[character.size()][number_of(character)] = true;
  }
  const auto is_sequence = [&](std::string_view text, auto& self) -> bool {
    if (text.empty()) return true;
    for (size_t width = 1; width <= text.size(); ++width) {
      if (is_character[width][number_of(text.substr(0, width))]) return self(text.substr(width), self);
    }
    return false;
  };
  // Of the ASCII letters one stands for all.
  const auto is_skipped = [](char c) { return c > 'A' && c < 0x7F; };
  for (uint32_t code = 0; code < 0x1000000; ++code) {
    const char bytes[] = {static_cast<char>(code >> 16), static_cast<char>(code >> 8), static_cast<char>(code)};
    if (std::ranges::any_of(bytes, is_skipped)) continue;
    const std::string_view text(bytes, 3);
    ASSERT_EQ(is_utf8(text), is_sequence(text, is_sequence)) << code;
    if (text[2] != 0) continue;
    const std::string_view two(bytes, 2);
    ASSERT_EQ(is_utf8(two), is_sequence(two, is_sequence)) << code;
  }
}

// The eight-byte steps over ASCII must not step over anything else.
TEST(Utf8, ABadByteAtEachPlace) {
  for (size_t length = 1; length < 40; ++length) {
    std::string text(length, 'a');
    EXPECT_TRUE(is_utf8(text));
    for (size_t at = 0; at < length; ++at) {
      text[at] = static_cast<char>(0xFF);
      EXPECT_FALSE(is_utf8(text)) << at << " of " << length;
      text[at] = 'a';
    }
  }
}

TEST(InQuotes, ShowsWhatCanBeShown) {
  EXPECT_EQ(in_quotes(""), "\"\"");
  EXPECT_EQ(in_quotes("blk.0.attn_q.weight"), "\"blk.0.attn_q.weight\"");
  EXPECT_EQ(in_quotes("gr\xC3\xBCn"), "\"gr\xC3\xBCn\"");
  EXPECT_EQ(in_quotes("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(in_quotes("a\nb\x1b[31m\x7f"), "\"a\\x0ab\\x1b[31m\\x7f\"");
  EXPECT_EQ(in_quotes("\xC2\x9B"), "\"\\xc2\\x9b\"");
  EXPECT_EQ(in_quotes("\xFFz\xE2\x82"), "\"\\xffz\\xe2\\x82\"");
  EXPECT_EQ(in_quotes({"\0", 1}), "\"\\x00\"");
}

TEST(InQuotes, CutsWhatIsLongAndAlwaysGivesUtf8) {
  EXPECT_EQ(in_quotes(std::string(96, 'k')), "\"" + std::string(96, 'k') + "\"");
  EXPECT_EQ(in_quotes(std::string(97, 'k')), "\"" + std::string(96, 'k') + "\"... (97 bytes)");
  EXPECT_EQ(path_in_quotes(std::string(97, 'k') + "\n"), "\"" + std::string(97, 'k') + "\\x0a\"");
  std::string bytes;
  for (int i = 0; i < 500; ++i) bytes += static_cast<char>(i * 89);
  for (size_t at = 0; at < 100; ++at) EXPECT_TRUE(is_utf8(in_quotes(std::string_view(bytes).substr(at))));
}

}  // namespace
}  // namespace lane
