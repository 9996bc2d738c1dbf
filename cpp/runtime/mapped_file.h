// A whole file, mapped read-only and private. Its size is taken once, when it is opened: every access is checked
// against that. Of a file that is cut short meanwhile the rest reads as zeros, which require_whole then refuses. Moving
// keeps the addresses.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "cpp/runtime/error.h"
#include "cpp/runtime/lost_pages.h"

namespace lane {

class MappedFile {
 public:
  // Throws `if_unreadable` for a path that names no readable regular file (a usage error, unless the path was derived
  // and not given) and a capacity error where the file cannot be mapped.
  static MappedFile open(const std::string& path, ErrorKind if_unreadable = ErrorKind::kUsage);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Throws a checkpoint error if bytes that were read since the file was opened were no longer there.
  void require_whole() const;

  // Starts reading from `offset` to the end in the background, for a caller that is about to use all of it.
  void prefetch_from(size_t offset) const;

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes);

  std::string path_;
  std::span<const std::byte> bytes_;
  WatchedRange watch_;
};

}  // namespace lane
