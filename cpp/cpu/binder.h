// Enters: a form's buffer table and, launch by launch, the fields that name buffers. Leaves: operands, with every
// access proved to lie inside its buffer and every buffer inside its allocation; what each launch touches and needs
// beside them; the rules that positions and indices must keep at run time. What breaks a rule is refused: launch
// number, kind, operand, the value found, the value allowed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "cpp/cpu/memory.h"
#include "cpp/runtime/error.h"
#include "lane_records.h"

namespace lane::cpu {

// Bytes [offset, end) of an allocation that a launch reads or writes.
struct Footprint {
  int base;
  std::int64_t offset, end;
  bool written;
};

// `count` indices at `index`, each in [0, limit); a position is one index that `rows` rows start at.
struct IndexRule {
  Operand index;
  std::int64_t count, rows, limit;
  std::int64_t launch;
  const char* kind;
  const char* field;
};

// What a launch needs beside its buffers: memory that its threads share, and what each has for itself.
struct Needs {
  std::int64_t scratch_bytes = 0, thread_bytes = 0;
};

// An activation's quantised form.
struct QuantOperand {
  Operand words, second, scales;
};

struct BufferRow {
  spec::Space space;
  spec::Elem elem;
  std::int64_t length;
  std::int64_t plain, words, second, scales;
};

// Bytes of the allocations that arrays may lie in.
struct Room {
  std::int64_t arena, pool, state;
};

class Binder {
 public:
  // `measuring`: launches are bound to learn what they need; they have no scratch yet and will not run.
  Binder(const std::int64_t* table, std::int64_t buffers, const std::vector<std::unique_ptr<Matrix>>& matrices,
         spec::Numerics numerics, const Room& room, const Kernels& kernels, int threads, bool measuring = false);

  // What follows is about this launch, whose scratch is the buffer `scratch`.
  void begin(std::int64_t launch, const char* kind, spec::Ref scratch);

  Operand read(spec::Ref ref, const char* field, std::int64_t elems) { return plain(ref, field, elems, 0, false); }
  Operand write(spec::Ref ref, const char* field, std::int64_t elems) { return plain(ref, field, elems, 0, true); }
  Operand update(spec::Ref ref, const char* field, std::int64_t elems);
  QuantOperand read_quant(spec::Ref ref, const char* field, std::int64_t elems) {
    return quant(ref, field, elems, false);
  }
  QuantOperand write_quant(spec::Ref ref, const char* field, std::int64_t elems) {
    return quant(ref, field, elems, true);
  }
  const Matrix& matrix(spec::Ref ref, const char* field, std::int64_t rows, std::int64_t cols);
  // A parameter of the caller's that names a row of a table of `limit` rows, `rows` rows from it on being touched.
  Operand position(spec::Ref ref, const char* field, std::int64_t rows, std::int64_t limit);
  // `count` parameters, each an index below `limit`.
  Operand indices(spec::Ref ref, const char* field, std::int64_t count, std::int64_t limit);
  // An i32 updated in place.
  Operand counter(spec::Ref ref, const char* field);
  // Memory that the launch's threads share, which must be there, and bytes that each has for itself.
  Operand scratch(std::int64_t bytes);
  bool has_scratch() const { return measuring_ || scratch_ != spec::kNone; }
  void thread_scratch(std::int64_t bytes);

  // Refuses unless low <= value <= high.
  void check(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) const;
  // The product of sizes, each at least 1; refused when it overflows.
  std::int64_t product(const char* field, std::initializer_list<std::int64_t> sizes) const;
  // Refuses `dst` unless it names the bytes that `src` has from element `offset` on.
  void check_view(spec::Ref src, spec::Ref dst, std::int64_t offset, std::int64_t n) const;
  std::int64_t length(spec::Ref ref, const char* field) const { return row(ref, field).length; }
  [[noreturn]] void refuse(const char* field, const std::string& found, const std::string& allowed) const;
  // The same of what is well formed, but has no kernel here.
  [[noreturn]] void lack(const char* field, const std::string& found, const std::string& allowed) const;

  spec::Numerics numerics() const { return numerics_; }
  bool precise() const { return numerics_ == spec::Numerics::kPrecise; }
  const Kernels& kernels() const { return kernels_; }
  int threads() const { return threads_; }

  const std::vector<Footprint>& footprints() const { return footprints_; }
  const Needs& needs() const { return needs_; }
  const std::vector<IndexRule>& rules() const { return rules_; }
  const std::vector<std::int64_t>& external_elems() const { return external_elems_; }
  // The most that any launch needs of each thread.
  std::int64_t thread_bytes() const { return thread_bytes_; }

 private:
  const BufferRow& row(spec::Ref ref, const char* field) const;
  Operand plain(spec::Ref ref, const char* field, std::int64_t elems, int elem, bool written);
  QuantOperand quant(spec::Ref ref, const char* field, std::int64_t elems, bool written);
  Operand array(const BufferRow& buffer, const char* field, const char* what, std::int64_t offset_bytes,
                std::int64_t elems, std::int64_t elem_bytes, bool written);
  void check_unwritten(const char* field, Operand index, std::int64_t bytes) const;
  std::string place() const;

  const std::vector<std::unique_ptr<Matrix>>& matrices_;
  const spec::Numerics numerics_;
  const Room room_;
  const Kernels& kernels_;
  const int threads_;
  const bool measuring_;
  std::vector<BufferRow> buffers_;
  std::int64_t launch_ = 0;
  const char* kind_ = "";
  spec::Ref scratch_ = spec::kNone;
  Needs needs_;                         // of the launch
  std::vector<Footprint> footprints_;   // of the launch
  std::vector<Footprint> kept_writes_;  // outside the arena, of the launches before it
  std::vector<IndexRule> rules_;
  std::vector<std::int64_t> external_elems_;
  std::int64_t thread_bytes_ = 0;
};

}  // namespace lane::cpu
