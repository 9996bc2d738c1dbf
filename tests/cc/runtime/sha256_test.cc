// SHA-256 against the examples that NIST publishes with FIPS 180-4, and pieces against the whole. (Against hashlib on
// real heads of files: tests/py/checkpoint.)
#include "cpp/runtime/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace lane {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string digest_of(const std::string& text) {
  Sha256 hash;
  hash.update(bytes_of(text));
  return to_hex(hash.finish());
}

TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySizeAreTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  // Around a block of 64 bytes, and around the 56 after which the length needs a block of its own.
  for (size_t length : {0u, 1u, 55u, 56u, 57u, 63u, 64u, 65u, 119u, 120u, 128u, 300u}) {
    const std::string message = text.substr(0, length);
    for (size_t piece : {1u, 3u, 63u, 64u, 65u, 130u}) {
      Sha256 hash;
      for (size_t at = 0; at < length; at += piece) {
        hash.update(bytes_of(message).subspan(at, std::min(piece, length - at)));
      }
      EXPECT_EQ(to_hex(hash.finish()), digest_of(message)) << length << " bytes by " << piece;
    }
  }
}

}  // namespace
}  // namespace lane
