// Files that are no GGUF: what each beginning says of its file, and that none of any length is misread.
#include "cpp/runtime/other_file.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

namespace lane {
namespace {

using namespace std::string_literals;

std::string_view described(const std::string& bytes) { return describe_other_file(std::as_bytes(std::span(bytes))); }

TEST(OtherFile, IsKnownByItsBeginning) {
  EXPECT_TRUE(described("version https://git-lfs.github.com/spec/v1\n").starts_with("a pointer of git-lfs"));
  EXPECT_TRUE(described("PK\3\4...").starts_with("a zip archive"));
  EXPECT_TRUE(described(" \r\n<!doctype HTML>").starts_with("a page"));
  EXPECT_TRUE(described("\xef\xbb\xbf<HTML>").starts_with("a page"));
  EXPECT_TRUE(described("{\"error\"").starts_with("a text"));
  EXPECT_TRUE(described(std::string(257, 'a') + "ustar").starts_with("a compressed file"));
}

// The header's length must lie inside the file: any other eight bytes before a brace are chance.
TEST(OtherFile, SafetensorsBeginWithTheLengthOfTheirHeader) {
  const std::string length = "\6\0\0\0\0\0\0\0"s;
  EXPECT_TRUE(described(length + "{\"a\":1").starts_with("a safetensors file"));
  EXPECT_EQ(described(length + "{\"a\":"), "");
  EXPECT_EQ(described(length + "\"a\":12"), "");
  EXPECT_EQ(described("\xff\xff\xff\xff\xff\xff\xff\xff{\"a\":1"), "");
}

TEST(OtherFile, EveryPrefixIsReadWithinItsBytes) {
  const std::string whole = std::string(8, '\6') + "{" + std::string(300, ' ') + "<html";
  for (size_t size = 0; size <= whole.size(); ++size) {
    const std::string prefix(whole, 0, size);
    EXPECT_EQ(described(prefix), "") << size;
  }
  EXPECT_EQ(described(" \n\t "), "");
  EXPECT_EQ(described("some text"), "");
}

}  // namespace
}  // namespace lane
