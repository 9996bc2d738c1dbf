#include "cpp/cpu/binder.h"

#include <algorithm>
#include <limits>

namespace lane::cpu {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string column_place(std::int64_t buffer) { return "cpu: buffer " + std::to_string(buffer) + ": "; }

BufferRow read_row(const std::int64_t* columns, std::int64_t buffer) {
  const auto enumerator = [&](spec::Column column, const char* name, std::int64_t count) {
    const std::int64_t value = columns[column];
    if (value < 0 || value >= count) {
      throw Error(ErrorKind::kUsage, column_place(buffer) + name + ": found " + std::to_string(value) +
                                         ", allowed 0 to " + std::to_string(count - 1));
    }
    return value;
  };
  BufferRow row;
  row.space = static_cast<spec::Space>(enumerator(spec::kSpace, "space", std::size(spec::kSpaceNames)));
  row.elem = static_cast<spec::Elem>(enumerator(spec::kElem, "element type", std::size(spec::kElemNames)));
  row.length = columns[spec::kLength];
  row.plain = columns[spec::kPlain];
  row.words = columns[spec::kWords];
  row.second = columns[spec::kSecond];
  row.scales = columns[spec::kScales];
  if (row.length < 0) {
    throw Error(ErrorKind::kUsage,
                column_place(buffer) + "length: found " + std::to_string(row.length) + ", allowed 0 up");
  }
  return row;
}

bool is_kept(int base) { return base == kPoolBase || base == kStateBase; }

struct Region {
  Base base;
  const char* name;
  std::int64_t bytes;
};

Region region_of(spec::Space space, const Room& room) {
  if (space == spec::Space::kArena) return {kArenaBase, "arena", room.arena};
  if (space == spec::Space::kPool) return {kPoolBase, "pool", room.pool};
  return {kStateBase, "state", room.state};
}

}  // namespace

Binder::Binder(const std::int64_t* table, std::int64_t buffers, const std::vector<std::unique_ptr<Matrix>>& matrices,
               spec::Numerics numerics, const Room& room, const Kernels& kernels, int threads, bool measuring)
    : matrices_(matrices),
      numerics_(numerics),
      room_(room),
      kernels_(kernels),
      threads_(threads),
      measuring_(measuring) {
  for (std::int64_t i = 0; i < buffers; ++i) {
    buffers_.push_back(read_row(table + i * spec::kTableColumns, i));
    const BufferRow& row = buffers_.back();
    if (row.space != spec::Space::kExternal) continue;
    if (row.plain < 0 || row.plain >= buffers) {
      throw Error(ErrorKind::kUsage, column_place(i) + "external: found " + std::to_string(row.plain) +
                                         ", allowed 0 to " + std::to_string(buffers - 1));
    }
    external_elems_.resize(std::max<std::size_t>(external_elems_.size(), static_cast<std::size_t>(row.plain) + 1));
    std::int64_t& elems = external_elems_[static_cast<std::size_t>(row.plain)];
    elems = std::max(elems, row.length);
  }
}

void Binder::begin(std::int64_t launch, const char* kind, spec::Ref scratch) {
  for (const Footprint& touched : footprints_) {
    if (touched.written && is_kept(touched.base)) kept_writes_.push_back(touched);
  }
  footprints_.clear();
  scratch_ = scratch;
  needs_ = {};
  launch_ = launch;
  kind_ = kind;
}

std::string Binder::place() const { return "cpu: launch " + std::to_string(launch_) + " (" + kind_ + ")"; }

void Binder::refuse(const char* field, const std::string& found, const std::string& allowed) const {
  throw Error(ErrorKind::kUsage, place() + ": " + field + ": found " + found + ", allowed " + allowed);
}

void Binder::lack(const char* field, const std::string& found, const std::string& allowed) const {
  throw Error(ErrorKind::kUnsupported, place() + ": " + field + ": found " + found + ", allowed " + allowed);
}

void Binder::check(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) const {
  if (value >= low && value <= high) return;
  refuse(field, std::to_string(value), std::to_string(low) + (high == kMost ? " up" : " to " + std::to_string(high)));
}

std::int64_t Binder::product(const char* field, std::initializer_list<std::int64_t> sizes) const {
  std::int64_t total = 1;
  for (const std::int64_t size : sizes) {
    check(field, size, 1, kMost);
    if (__builtin_mul_overflow(total, size, &total)) refuse(field, "a size above 2^63", "less");
  }
  return total;
}

const BufferRow& Binder::row(spec::Ref ref, const char* field) const {
  check(field, ref, 0, static_cast<std::int64_t>(buffers_.size()) - 1);
  return buffers_[static_cast<std::size_t>(ref)];
}

Operand Binder::array(const BufferRow& buffer, const char* field, const char* what, std::int64_t offset_bytes,
                      std::int64_t elems, std::int64_t elem_bytes, bool written) {
  const std::string name = std::string(field) + (*what == '\0' ? "" : std::string(", ") + what);
  if (offset_bytes < 0) refuse(name.c_str(), "none", "an array");
  if (buffer.space == spec::Space::kMatrix) refuse(name.c_str(), "a matrix", "an array");
  Operand operand = {kFirstExternalBase + static_cast<int>(buffer.plain), 0};
  if (buffer.space != spec::Space::kExternal) {
    const Region region = region_of(buffer.space, room_);
    operand = {region.base, offset_bytes};
    if (offset_bytes % elem_bytes != 0) {
      refuse(name.c_str(), "offset " + std::to_string(offset_bytes), "a multiple of " + std::to_string(elem_bytes));
    }
    if (offset_bytes > region.bytes || elems > (region.bytes - offset_bytes) / elem_bytes) {
      refuse(name.c_str(), std::to_string(elems) + " elements at byte " + std::to_string(offset_bytes),
             std::string("the ") + region.name + "'s " + std::to_string(region.bytes) + " bytes");
    }
  }
  footprints_.push_back({operand.base, operand.offset_bytes, operand.offset_bytes + elems * elem_bytes, written});
  return operand;
}

Operand Binder::plain(spec::Ref ref, const char* field, std::int64_t elems, int elem, bool written) {
  const BufferRow& buffer = row(ref, field);
  if (static_cast<int>(buffer.elem) != elem) {
    lack(field, std::string("element type ") + spec::kElemNames[static_cast<int>(buffer.elem)], spec::kElemNames[elem]);
  }
  check((std::string(field) + " elements").c_str(), elems, 0, buffer.length);
  return array(buffer, field, "", buffer.plain, elems, 4, written);
}

Operand Binder::update(spec::Ref ref, const char* field, std::int64_t elems) {
  read(ref, field, elems);
  return write(ref, field, elems);
}

QuantOperand Binder::quant(spec::Ref ref, const char* field, std::int64_t elems, bool written) {
  const BufferRow& buffer = row(ref, field);
  check((std::string(field) + " elements").c_str(), elems, 0, buffer.length);
  if (elems % kQuantBlock != 0)
    refuse(field, std::to_string(elems) + " elements", "a multiple of " + std::to_string(kQuantBlock));
  if (buffer.space == spec::Space::kExternal) refuse(field, "an external array", "one with a quantised form");
  if (precise()) refuse(field, "a quantised form under precise", "plain");
  QuantOperand operand;
  operand.words = array(buffer, field, "words", buffer.words, elems, 1, written);
  operand.scales = array(buffer, field, "scales", buffer.scales, elems / kQuantBlock, 4, written);
  if (numerics_ == spec::Numerics::kInt8x2) {
    operand.second = array(buffer, field, "second words", buffer.second, elems, 1, written);
  }
  return operand;
}

const Matrix& Binder::matrix(spec::Ref ref, const char* field, std::int64_t rows, std::int64_t cols) {
  const BufferRow& buffer = row(ref, field);
  if (buffer.space != spec::Space::kMatrix) {
    refuse(field, std::string("space ") + spec::kSpaceNames[static_cast<int>(buffer.space)], "a matrix");
  }
  check(field, buffer.plain, 0, static_cast<std::int64_t>(matrices_.size()) - 1);
  const Matrix& found = *matrices_[static_cast<std::size_t>(buffer.plain)];
  if (found.cols != cols || (rows >= 0 && found.rows != rows)) {
    refuse(field, std::to_string(found.rows) + " rows of " + std::to_string(found.cols),
           (rows < 0 ? "rows" : std::to_string(rows) + " rows") + std::string(" of ") + std::to_string(cols));
  }
  return found;
}

// An index is checked when a run begins, so no launch of the form may have written it by the time it is used.
void Binder::check_unwritten(const char* field, Operand index, std::int64_t bytes) const {
  if (!is_kept(index.base)) refuse(field, "an array that a launch computes", "a parameter in the pool or the state");
  for (const Footprint& write : kept_writes_) {
    if (write.base == index.base && write.offset < index.offset_bytes + bytes && index.offset_bytes < write.end) {
      refuse(field, "a parameter that an earlier launch of the form writes", "one that holds still");
    }
  }
}

Operand Binder::position(spec::Ref ref, const char* field, std::int64_t rows, std::int64_t limit) {
  const Operand operand = plain(ref, field, 1, static_cast<int>(spec::Elem::kI32), false);
  check_unwritten(field, operand, 4);
  rules_.push_back({operand, 1, rows, limit, launch_, kind_, field});
  return operand;
}

Operand Binder::indices(spec::Ref ref, const char* field, std::int64_t count, std::int64_t limit) {
  const Operand operand = plain(ref, field, count, static_cast<int>(spec::Elem::kI32), false);
  check_unwritten(field, operand, count * 4);
  rules_.push_back({operand, count, 1, limit, launch_, kind_, field});
  return operand;
}

Operand Binder::counter(spec::Ref ref, const char* field) {
  plain(ref, field, 1, static_cast<int>(spec::Elem::kI32), false);
  return plain(ref, field, 1, static_cast<int>(spec::Elem::kI32), true);
}

Operand Binder::scratch(std::int64_t bytes) {
  needs_.scratch_bytes = bytes;
  if (measuring_) return {kArenaBase, 0};
  if (scratch_ == spec::kNone) refuse("scratch", "none", std::to_string(bytes) + " bytes");
  const BufferRow& buffer = row(scratch_, "scratch");
  const std::int64_t elems = bytes / 4 + (bytes % 4 != 0 ? 1 : 0);
  check("scratch elements", buffer.length, elems, kMost);
  return array(buffer, "scratch", "", buffer.plain, elems, 4, true);
}

void Binder::thread_scratch(std::int64_t bytes) {
  needs_.thread_bytes = std::max(needs_.thread_bytes, bytes);
  thread_bytes_ = std::max(thread_bytes_, bytes);
}

void Binder::check_view(spec::Ref src, spec::Ref dst, std::int64_t offset, std::int64_t n) const {
  const BufferRow &from = row(src, "src"), &to = row(dst, "out");
  check("offset", offset, 0, from.length);
  check("n", n, 1, from.length - offset);
  check("n", n, 1, to.length);
  if (from.space != to.space || from.elem != to.elem || from.plain + offset * 4 != to.plain) {
    refuse("out", "other bytes", "those of src from its element " + std::to_string(offset) + " on");
  }
}

}  // namespace lane::cpu
