#include "cpp/cpu/memory.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "cpp/runtime/error.h"

namespace lane::cpu {

Allocation::Allocation(std::int64_t bytes) {
  if (bytes == 0) return;
  void* pages = MAP_FAILED;
  if (bytes > 0) {
    pages = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (pages == MAP_FAILED) {
    throw Error(ErrorKind::kCapacity, "cpu: memory: found less than the " + std::to_string(bytes) + " bytes wanted");
  }
  data_ = static_cast<std::byte*>(pages);
  bytes_ = bytes;
}

Allocation::~Allocation() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

Allocation::Allocation(Allocation&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace lane::cpu
