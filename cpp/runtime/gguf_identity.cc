#include "cpp/runtime/gguf_identity.h"

#include <optional>
#include <span>

#include "cpp/runtime/error.h"
#include "cpp/runtime/gguf_split.h"
#include "cpp/runtime/utf8.h"

namespace lane {
namespace {

[[noreturn]] void refuse_other(const std::string& path, const std::string& found, const std::string& allowed,
                               ErrorKind kind = ErrorKind::kCheckpoint) {
  throw Error(kind, "checkpoint: " + path_in_quotes(path) + ": " + found + "; allowed: " + allowed);
}

void check_identity(const std::string& path, const GgufIdentity& identity) {
  const size_t parts = identity.part_bytes.size();
  bool whole = parts > 0 && identity.head_bytes.size() == parts;
  for (size_t i = 0; whole && i < parts; ++i) whole = identity.head_bytes[i] <= identity.part_bytes[i];
  if (!whole) {
    refuse_other(path, "an identity of " + std::to_string(parts) + " files", "1 or more, each longer than its head",
                 ErrorKind::kUsage);
  }
}

// The paths of all files, from the first one's.
std::vector<std::string> part_paths(const std::string& path, size_t parts) {
  if (parts == 1) return {path};
  const std::optional<GgufSplitName> name = split_name_of(path);
  const std::string allowed = "the first of " + std::to_string(parts) + " files";
  if (!name || name->count != parts) refuse_other(path, "another file", allowed);
  if (name->number != 1) {
    refuse_other(path, "file " + std::to_string(name->number), allowed + ", which opens all", ErrorKind::kUsage);
  }
  std::vector<std::string> paths;
  for (size_t i = 1; i <= parts; ++i) paths.push_back(name->path_of(i));
  return paths;
}

}  // namespace

std::vector<MappedFile> open_known_checkpoint(const std::string& path, const GgufIdentity& identity) {
  check_identity(path, identity);
  std::vector<MappedFile> files;
  Sha256 heads;
  for (const std::string& part : part_paths(path, identity.part_bytes.size())) {
    const size_t i = files.size();
    files.push_back(MappedFile::open(part, i == 0 ? ErrorKind::kUsage : ErrorKind::kCheckpoint));
    const std::span<const std::byte> bytes = files.back().bytes();
    if (bytes.size() != identity.part_bytes[i]) {
      refuse_other(part, std::to_string(bytes.size()) + " bytes",
                   std::to_string(identity.part_bytes[i]) + ", those of the checkpoint that was compiled");
    }
    heads.update(bytes.first(identity.head_bytes[i]));
  }
  for (const MappedFile& file : files) file.require_whole();
  const Sha256Digest found = heads.finish();
  if (found != identity.head_sha256) {
    refuse_other(path, "SHA-256 of what precedes the data " + to_hex(found),
                 to_hex(identity.head_sha256) + ", that of the checkpoint that was compiled");
  }
  return files;
}

}  // namespace lane
