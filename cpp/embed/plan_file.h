// In: a plan file, which lane writes beside a checkpoint (python/lane/devices/image.py), as 64-bit little-endian words.
// Out: what the CPU device takes, as plain numbers and views of those words. The words are not trusted: every place
// that a parsed plan names lies inside the file, the pool, the state or the checkpoint's parts that it names it in;
// anything else is refused with the object, the value found and the value allowed. Launch records are the device's to
// check.
//
//   "LANEPLAN" · version · words of the file · SHA-256 of all that follows (4 words)
//   · spec hash (16 characters) · numerics · context · vocabulary · threads
//   · parts n · n × (file bytes · head bytes) · SHA-256 of the heads (4 words)
//   · matrices n · n × (type · rows · cols · runs m · m × (part · offset in the file · bytes · rows))
//   · pool bytes · constants n · n × (offset · bytes)
//   · state bytes · carried ranges n · n × (offset · bytes)
//   · places in the state: token · tokens · position · logits
//   · forms n · n × (rows · head · sequences · arena bytes · table words · record words)
//   · each form's table and records · each constant's bytes, to the next whole word
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpp/cpu/steps.h"
#include "cpp/runtime/gguf_identity.h"

namespace lane::embed {

struct PlanRun {
  std::int64_t part, offset, bytes, rows;
};

struct PlanMatrix {
  std::int64_t type_id, rows, cols;
  std::vector<PlanRun> runs;
};

struct PlanConstant {
  std::int64_t offset;  // in the pool
  std::span<const std::byte> bytes;
};

struct PlanForm {
  std::int64_t rows;
  bool all;  // logits of all rows, not of the last
  std::int64_t sequences, arena_bytes;
  std::span<const std::int64_t> table, records;
};

struct Plan {
  std::int64_t numerics, context;
  std::int64_t threads;  // the most that its launches have scratch for
  GgufIdentity identity;
  std::vector<PlanMatrix> matrices;
  std::int64_t pool_bytes;
  std::vector<PlanConstant> constants;
  std::int64_t state_bytes;
  cpu::StepIo io;
  std::vector<PlanForm> forms;
};

// The file's words, read once: what is checked is what is used. A usage error if it cannot be read.
std::vector<std::int64_t> read_plan_words(const std::string& path);

// `path` names the file in messages; the words must outlive the plan. Throws a checkpoint error for a malformed plan,
// an unsupported one for a version or launch records that are not this library's.
Plan parse_plan(std::span<const std::int64_t> words, const std::string& path);

}  // namespace lane::embed
