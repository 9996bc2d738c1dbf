#include "cpp/runtime/gguf.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <numeric>
#include <utility>

#include "cpp/runtime/error.h"
#include "cpp/runtime/gguf_cursor.h"
#include "cpp/runtime/gguf_split.h"
#include "cpp/runtime/utf8.h"

namespace lane {

GgufFile GgufFile::open(const std::string& path) try {
  GgufFile file;
  GgufPart first = file.add_part(MappedFile::open(path));
  file.version_ = first.version;
  file.metadata_ = std::move(first.metadata);
  const uint64_t count = split_count_of(file.metadata_, path);
  if (count > 1) file.add_other_parts(path, count);
  file.index_tensors();
  file.require_whole();
  return file;
} catch (const std::bad_alloc&) {
  throw Error(ErrorKind::kCapacity, "checkpoint: " + path_in_quotes(path) + ": its entries do not fit in memory");
}

// Keeps the file and its tensors; gives back the rest.
GgufPart GgufFile::add_part(MappedFile file) {
  GgufPart part = parse_gguf_part(file.bytes(), file.path());
  for (GgufTensor& tensor : part.tensors) tensor.part = static_cast<uint32_t>(parts_.size());
  parts_.push_back({std::move(file), part.data_offset});
  if (tensors_.empty()) {
    tensors_ = std::move(part.tensors);
  } else {
    tensors_.insert(tensors_.end(), part.tensors.begin(), part.tensors.end());
  }
  part.tensors.clear();
  return part;
}

void GgufFile::add_other_parts(const std::string& path, uint64_t count) {
  const GgufSplitName name = split_name_of(path).value();
  std::vector<GgufMetadata> later;
  for (uint64_t number = 2; number <= count; ++number) {
    later.push_back(add_part(MappedFile::open(name.path_of(number), ErrorKind::kCheckpoint)).metadata);
    check_later_metadata(metadata_, later.back(), part_path(number - 1));
  }
  check_split_keys(metadata_, path, 0, count, tensors_.size());
  for (uint64_t i = 1; i < count; ++i) check_split_keys(later[i - 1], part_path(i), i, count, tensors_.size());
}

void GgufFile::index_tensors() {
  const auto name_of = [this](uint32_t i) { return tensors_[i].name; };
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::ranges::sort(by_name_, {}, [&](uint32_t i) { return std::pair(name_of(i), i); });
  const auto twice = std::ranges::adjacent_find(by_name_, {}, name_of);
  if (twice == by_name_.end()) return;
  const GgufTensor& second = tensors_[*std::next(twice)];
  refuse_gguf(ErrorKind::kCheckpoint, part_path(second.part), {"tensor", GgufPlace::kNoIndex, second.name}, "name",
              "there twice", "once");
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto at = std::ranges::lower_bound(by_name_, name, {}, [this](uint32_t i) { return tensors_[i].name; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

GgufIdentity GgufFile::identity() const {
  GgufIdentity identity{};
  Sha256 heads;
  for (const Part& part : parts_) {
    identity.part_bytes.push_back(part.file.bytes().size());
    identity.head_bytes.push_back(part.data_offset);
    heads.update(part.file.bytes().first(part.data_offset));
  }
  identity.head_sha256 = heads.finish();
  require_whole();
  return identity;
}

void GgufFile::require_whole() const {
  for (const Part& part : parts_) part.file.require_whole();
}

void GgufFile::prefetch() const {
  for (const Part& part : parts_) part.file.prefetch_from(part.data_offset);
}

}  // namespace lane
