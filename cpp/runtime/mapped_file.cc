#include "cpp/runtime/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cpp/runtime/error.h"
#include "cpp/runtime/utf8.h"

namespace lane {
namespace {

[[noreturn]] void refuse(ErrorKind kind, const std::string& path, const std::string& reason) {
  throw Error(kind, "checkpoint: " + path_in_quotes(path) + ": " + reason);
}

// Closes the descriptor when the scope ends: a mapping outlives it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile MappedFile::open(const std::string& path, ErrorKind if_unreadable) {
  if (path.find('\0') != std::string::npos) refuse(if_unreadable, path, "a path cannot hold a zero byte");
  // Not to wait for a writer, should the path name a pipe.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) refuse(if_unreadable, path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) {
    refuse(if_unreadable, path, std::string("has no size: ") + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) refuse(if_unreadable, path, "is a directory; allowed: a GGUF file");
  if (!S_ISREG(status.st_mode)) refuse(if_unreadable, path, "is not a regular file; allowed: a GGUF file");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile(path, {});  // an empty mapping is an error to the system
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) {
    refuse(ErrorKind::kCapacity, path,
           "its " + std::to_string(size) + " bytes cannot be mapped: " + std::strerror(errno));
  }
  return MappedFile(path, {static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {
  if (!bytes_.empty()) watch_ = WatchedRange(bytes_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})), watch_(std::move(other.watch_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(watch_, other.watch_);
  return *this;
}

MappedFile::~MappedFile() {
  watch_ = {};
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::require_whole() const {
  if (!watch_.lost()) return;
  refuse(ErrorKind::kCheckpoint, path_,
         "some of its " + std::to_string(bytes_.size()) +
             " bytes were lost while it was in use; allowed: a file that "
             "nothing cuts short, on a disk that can be read");
}

void MappedFile::prefetch_from(size_t offset) const {
  if (offset >= bytes_.size()) return;
  // Advice starts on a page; a mapping does too. That it may be ignored is no error.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t start = offset / page * page;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + start, bytes_.size() - start, MADV_WILLNEED);
}

}  // namespace lane
