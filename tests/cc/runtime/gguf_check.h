// Everything that parse_gguf_part promises of whatever it returns, checked by reading it: for fuzzing, and for the
// mutations that are tested everywhere. A broken promise ends the process, as does (under a sanitizer) a read outside
// the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "cpp/runtime/error.h"
#include "cpp/runtime/gguf_part.h"
#include "cpp/runtime/utf8.h"

namespace lane {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "promise broken: %s\n", what);
  std::abort();
}

inline void check_value(const GgufMetadata& metadata, const GgufValue& value) {
  require(!value.key.empty() && value.key.size() <= 65535 && is_utf8(value.key), "a key is 1 to 65535 bytes of UTF-8");
  require(metadata.find(value.key) == &value, "a key finds its value, so there is one of it");
  require(value.is_array || value.count == 1, "a value that is no array is one");
  uint64_t read_bytes = 0;
  if (value.kind == GgufKind::kString) {
    for_each_string(value, [&](std::string_view text) {
      require(is_utf8(text), "a string is UTF-8");
      read_bytes += 8 + text.size();
    });
  } else {
    for (const std::byte element : value.payload) {
      require(value.kind != GgufKind::kBool || element <= std::byte{1}, "a bool is 0 or 1");
      ++read_bytes;
    }
    require(value.count == 0 || value.payload.size() % value.count == 0, "elements have one size");
  }
  require(read_bytes == value.payload.size(), "the elements are the payload");
}

inline void check_tensor(const GgufTensor& tensor, std::span<const std::byte> data) {
  require(!tensor.name.empty() && tensor.name.size() <= 64 && is_utf8(tensor.name), "a name is 1 to 64 bytes of UTF-8");
  require(tensor.n_dims >= 1 && tensor.n_dims <= 4, "a tensor has 1 to 4 dimensions");
  require(tensor.dims[0] % tensor.type->block_elems == 0, "a row is whole blocks");
  uint64_t bytes = tensor.dims[0] / tensor.type->block_elems * tensor.type->block_bytes;
  for (int d = 1; d < 4; ++d) bytes *= tensor.dims[d];
  require(bytes > 0 && bytes == tensor.bytes, "a tensor has the bytes of its shape");
  require(tensor.offset <= data.size() && tensor.bytes <= data.size() - tensor.offset, "a tensor is in the data");
  require(tensor.data == data.data() + tensor.offset, "a tensor's data is at its offset");
  volatile unsigned read = 0;
  read = read + std::to_integer<unsigned>(tensor.data[0]);
  read = read + std::to_integer<unsigned>(tensor.data[tensor.bytes - 1]);
}

inline void check_part(const GgufPart& part, std::span<const std::byte> bytes) {
  require(part.version == 2 || part.version == 3, "the version is 2 or 3");
  require(part.data_offset <= bytes.size(), "the data section is in the file");
  for (const GgufValue& value : part.metadata.values) check_value(part.metadata, value);
  std::vector<const GgufTensor*> by_offset;
  for (const GgufTensor& tensor : part.tensors) {
    check_tensor(tensor, bytes.subspan(part.data_offset));
    by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, &GgufTensor::offset);
  for (size_t i = 1; i < by_offset.size(); ++i) {
    require(by_offset[i - 1]->offset + by_offset[i - 1]->bytes <= by_offset[i]->offset, "tensors do not overlap");
  }
}

// Whether the bytes are a GGUF file; if so, one that keeps the promises.
inline bool check_bytes(std::span<const std::byte> bytes) {
  try {
    check_part(parse_gguf_part(bytes, "fuzzed.gguf"), bytes);
    return true;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(is_utf8(message) && message.find("; allowed: ") != message.npos, "a refusal says what is allowed");
    return false;
  }
}

}  // namespace lane
