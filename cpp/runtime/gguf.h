// In: the path of a GGUF checkpoint: one file, or the first of the files NAME-00001-of-0000N.gguf that it was split
// into. Out: its metadata and tensors as views into the mapped files, for as long as the GgufFile lives (moving it
// keeps them). What it promises of each file is in gguf_part.h; of all: tensor names are unique, and the parts are
// exactly those that belong together. It needs only the standard library and POSIX, as emitted programs use it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpp/runtime/gguf_identity.h"
#include "cpp/runtime/gguf_part.h"
#include "cpp/runtime/mapped_file.h"

namespace lane {

class GgufFile {
 public:
  // Throws lane::Error and nothing else: usage for a path that cannot be opened or that is a later part of a split
  // checkpoint, capacity where memory does not suffice, and what parse_gguf_part throws.
  static GgufFile open(const std::string& path);

  GgufFile(GgufFile&&) = default;
  GgufFile& operator=(GgufFile&&) = default;

  uint32_t version() const { return version_; }
  size_t parts() const { return parts_.size(); }
  const std::string& part_path(size_t part) const { return parts_[part].file.path(); }
  uint64_t part_bytes(size_t part) const { return parts_[part].file.bytes().size(); }
  uint64_t data_offset(size_t part) const { return parts_[part].data_offset; }

  // The first part's: no other part may say more than it, but for how it was split and its own alignment.
  const GgufMetadata& metadata() const { return metadata_; }

  // Of all parts, in the files' order.
  std::span<const GgufTensor> tensors() const { return tensors_; }
  const GgufTensor& tensor(size_t index) const { return tensors_[index]; }
  const GgufTensor* find_tensor(std::string_view name) const;  // null if there is none

  // Throws a checkpoint error if a file was cut short while it was in use. Whoever has read metadata or weights asks:
  // what was lost reads as zeros.
  void require_whole() const;

  // Reads the heads again, at every call.
  GgufIdentity identity() const;

  // Starts reading the weights in the background.
  void prefetch() const;

 private:
  struct Part {
    MappedFile file;
    uint64_t data_offset;
  };

  GgufFile() = default;
  GgufPart add_part(MappedFile file);
  void add_other_parts(const std::string& path, uint64_t count);
  void index_tensors();

  uint32_t version_ = 0;
  std::vector<Part> parts_;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::vector<uint32_t> by_name_;  // indices into tensors_, sorted by name
};

}  // namespace lane
