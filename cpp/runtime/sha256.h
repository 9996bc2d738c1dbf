// SHA-256 (FIPS 180-4). It tells checkpoints apart: a digest that every system has a tool for, so that what a program
// was compiled for can be checked by hand, in code small enough to travel with an emitted program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lane {

using Sha256Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  Sha256Digest finish();  // ends the message; the object is spent

 private:
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  size_t pending_bytes_ = 0;
  uint64_t message_bytes_ = 0;
};

// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256Digest& digest);

}  // namespace lane
