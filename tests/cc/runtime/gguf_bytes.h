// Writes the bytes of small GGUF files for tests of the reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cpp/runtime/gguf_part.h"

namespace lane {

class GgufBytes {
 public:
  GgufBytes(uint64_t tensors, uint64_t values, uint32_t version = 3) {
    bytes_ = "GGUF";
    number(version).number(tensors).number(values);
  }

  template <typename T>
  GgufBytes& number(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
    return *this;
  }

  GgufBytes& string(std::string_view text) {
    number<uint64_t>(text.size());
    bytes_ += text;
    return *this;
  }

  // A value's key and kind; the value follows.
  GgufBytes& key(std::string_view name, GgufKind kind) { return string(name).number(static_cast<uint32_t>(kind)); }

  GgufBytes& array(std::string_view name, GgufKind kind, uint64_t count) {
    return key(name, GgufKind::kArray).number(static_cast<uint32_t>(kind)).number(count);
  }

  GgufBytes& tensor(std::string_view name, std::initializer_list<uint64_t> dims, uint32_t type, uint64_t offset) {
    string(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) number(dim);
    return number(type).number(offset);
  }

  GgufBytes& data(size_t bytes, char fill, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    bytes_.append(bytes, fill);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace lane
