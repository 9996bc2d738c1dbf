// Mutations of a good GGUF file: each is refused, or what is read from it keeps every promise of the reader. The
// bytes lie in an allocation of their exact size, so that a sanitizer sees the first read past them.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "tests/cc/runtime/gguf_bytes.h"
#include "tests/cc/runtime/gguf_check.h"

namespace lane {
namespace {

bool check(const std::string& text) {
  const auto bytes = std::make_unique<std::byte[]>(text.size());
  std::memcpy(bytes.get(), text.data(), text.size());
  return check_bytes({bytes.get(), text.size()});
}

std::string good_file() {
  GgufBytes file(3, 6);
  file.key("general.alignment", GgufKind::kU32).number<uint32_t>(8);
  file.key("a.bool", GgufKind::kBool).number<uint8_t>(1);
  file.key("a.string", GgufKind::kString).string("gr\xC3\xBCn");
  file.array("some.strings", GgufKind::kString, 3).string("a").string("").string("bc");
  file.array("some.bools", GgufKind::kBool, 4).number<uint32_t>(0x01000100);
  file.array("some.u16", GgufKind::kU16, 3).number<uint16_t>(1).number<uint32_t>(2);
  file.tensor("a", {4}, 0, 0).tensor("b", {32, 2}, 8, 16).tensor("c", {2, 1, 2, 1}, 24, 88);
  return file.data(92, 'd', 8).bytes();
}

TEST(GgufMutation, TheFileIsGood) { EXPECT_TRUE(check(good_file())); }

TEST(GgufMutation, EveryByteWithEveryBitFlippedAndAtItsBounds) {
  const std::string good = good_file();
  for (size_t at = 0; at < good.size(); ++at) {
    std::string mutated = good;
    for (int bit = 0; bit < 8; ++bit) {
      mutated[at] = static_cast<char>(good[at] ^ (1 << bit));
      check(mutated);
    }
    for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
      mutated[at] = static_cast<char>(value);
      check(mutated);
    }
  }
}

TEST(GgufMutation, EveryPrefixIsRefused) {
  const std::string good = good_file();
  for (size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(check(good.substr(0, length))) << length;
}

// Eight bytes at once, as counts, lengths, dimensions and offsets are; and runs that are moved, doubled or dropped.
TEST(GgufMutation, RandomWordsAndRuns) {
  constexpr uint64_t kWords[] = {0,          1,          2,          7,          31,         33,        0x7FFFFFFF,
                                 0x80000000, 0xFFFFFFFF, 1ull << 32, 1ull << 61, 1ull << 63, UINT64_MAX};
  const std::string good = good_file();
  std::mt19937 random(1);
  const auto below = [&](size_t bound) { return random() % bound; };
  size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string mutated = good;
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(mutated.size() - 8);
      const size_t run = 1 + below(std::min<size_t>(40, mutated.size() - at));
      switch (below(4)) {
        case 0:
          std::memcpy(mutated.data() + at, &kWords[below(std::size(kWords))], 8);
          break;
        case 1:
          mutated.insert(below(mutated.size()), mutated.substr(at, run));
          break;
        case 2:
          if (run + 16 < mutated.size()) mutated.erase(at, run);
          break;
        default:
          mutated[at] = static_cast<char>(random());
      }
    }
    accepted += check(mutated);
  }
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace lane
