// Fuzzes one GGUF file's bytes: each input is refused, or what is read from it keeps every promise of the reader.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/cc/runtime/gguf_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lane::check_bytes(std::as_bytes(std::span(data, size)));
  return 0;
}
