// How a checkpoint says that it was split into files, and where the others are: by the files' names,
// NAME-00001-of-0000N.gguf, and by the keys split.no (from 0), split.count and split.tensors.count (of all parts).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cpp/runtime/gguf_part.h"

namespace lane {

struct GgufSplitName {
  std::string prefix;  // all before "-00001-of-"
  uint64_t number;     // from 1
  uint64_t count;

  std::string path_of(uint64_t part_number) const;
};

// What the name says, if it has that form.
std::optional<GgufSplitName> split_name_of(const std::string& path);

// Of the metadata of the file that was opened: the number of parts, 1 if the checkpoint is not split. Throws where the
// name and the metadata disagree, and a usage error naming the first part where this is a later one.
uint64_t split_count_of(const GgufMetadata& metadata, const std::string& path);

// Throws unless part `index` (from 0) of `count` says that it is that, of `tensors` tensors in all.
void check_split_keys(const GgufMetadata& metadata, const std::string& path, uint64_t index, uint64_t count,
                      uint64_t tensors);

// Throws unless all that a later part's metadata says, but for how it was split and aligned, is in the first's.
void check_later_metadata(const GgufMetadata& first, const GgufMetadata& later, const std::string& path);

}  // namespace lane
