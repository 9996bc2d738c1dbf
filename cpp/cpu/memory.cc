#include "cpp/cpu/memory.h"

#include <sys/mman.h>

#include <iterator>
#include <string>
#include <utility>

#include "cpp/runtime/error.h"

namespace lane::cpu {
namespace {

const FormatKernels& find_format(const Kernels& kernels, std::int64_t type_id) {
  std::string names;
  for (int i = 0; i < kernels.format_count; ++i) {
    if (kernels.formats[i].type_id == type_id) return kernels.formats[i];
    names += (i == 0 ? "" : ", ") + std::string(kernels.formats[i].name);
  }
  throw Error(ErrorKind::kUnsupported,
              "cpu: matrix: found tensor type number " + std::to_string(type_id) + ", allowed " + names);
}

}  // namespace

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

Matrix matrix_of(const Kernels& kernels, std::int64_t type_id, std::int64_t rows, std::int64_t cols) {
  const FormatKernels& format = find_format(kernels, type_id);
  if (cols < 1 || cols % format.block_elems != 0 || cols > INT64_MAX / format.block_bytes) {
    throw Error(ErrorKind::kUsage, std::string("cpu: matrix in ") + format.name + ": columns: found " +
                                       std::to_string(cols) + ", allowed a multiple of " +
                                       std::to_string(format.block_elems));
  }
  return {&format, rows, cols, cols / format.block_elems * format.block_bytes, {}};
}

spec::Numerics numerics_at(std::int64_t ordinal) {
  constexpr std::int64_t kCount = std::ssize(spec::kNumericsNames);
  if (ordinal < 0 || ordinal >= kCount) {
    throw Error(ErrorKind::kUsage,
                "cpu: numerics: found " + std::to_string(ordinal) + ", allowed 0 to " + std::to_string(kCount - 1));
  }
  return static_cast<spec::Numerics>(ordinal);
}

}  // namespace lane::cpu
