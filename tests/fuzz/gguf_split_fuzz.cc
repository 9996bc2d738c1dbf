// Fuzzes checkpoints of two files. An input: where the second file starts (u32), then both. Either file alone, and
// both together, are refused or read to their ends.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "cpp/runtime/gguf.h"
#include "tests/cc/runtime/gguf_check.h"

namespace {

const std::string& prefix() {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("split-" + std::to_string(::getpid()) + "-")).string();
  return path;
}

void write(const std::string& path, std::span<const uint8_t> bytes) {
  // A new file each time: one that is written over would change under the mapping.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void read_all(const std::string& path) {
  try {
    const lane::GgufFile file = lane::GgufFile::open(path);
    for (const lane::GgufTensor& tensor : file.tensors()) {
      lane::require(file.find_tensor(tensor.name) == &tensor, "a name finds its tensor, so there is one of it");
      lane::require(tensor.part < file.parts(), "a tensor is in a part");
      volatile std::byte last = tensor.data[tensor.bytes - 1];
      (void)last;
    }
    lane::require(file.identity() == file.identity(), "an identity stays");
  } catch (const lane::Error& error) {
    lane::require(lane::is_utf8(error.what()), "a refusal is text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t first_bytes;
  if (size < sizeof first_bytes) return 0;
  std::memcpy(&first_bytes, data, sizeof first_bytes);
  const std::span<const uint8_t> both(data + sizeof first_bytes, size - sizeof first_bytes);
  const size_t middle = std::min<size_t>(first_bytes, both.size());
  const std::string first = prefix() + "00001-of-00002.gguf", second = prefix() + "00002-of-00002.gguf";
  write(first, both.first(middle));
  write(second, both.subspan(middle));
  read_all(first);
  read_all(second);
  return 0;
}
