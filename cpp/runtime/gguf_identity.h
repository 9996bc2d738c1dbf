// What tells a checkpoint from another without reading its weights, and a checkpoint opened by whoever knows that of it
// already: a plan or an emitted program, which has the place of every matrix in the files and parses nothing of them.
//
// The size of each file, and the SHA-256 of all that precedes the data sections, file after file. For a single file it
// is what `head -c HEAD_BYTES | sha256sum` says. Where the data section begins follows from the bytes before it, so a
// file whose first HEAD_BYTES have the digest begins it there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpp/runtime/mapped_file.h"
#include "cpp/runtime/sha256.h"

namespace lane {

struct GgufIdentity {
  std::vector<uint64_t> part_bytes;
  std::vector<uint64_t> head_bytes;  // of each part, those before its data section
  Sha256Digest head_sha256;

  bool operator==(const GgufIdentity&) const = default;
};

// Maps the files of the checkpoint at `path`, in order: that file, or the first of those that it was split into. Throws
// a usage error for a path that cannot be opened or is a later file's, a checkpoint error where a file is missing or
// the checkpoint is another one, a capacity error where a file cannot be mapped.
std::vector<MappedFile> open_known_checkpoint(const std::string& path, const GgufIdentity& identity);

}  // namespace lane
