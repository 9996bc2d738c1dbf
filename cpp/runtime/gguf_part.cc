#include "cpp/runtime/gguf_part.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "cpp/runtime/error.h"
#include "cpp/runtime/gguf_cursor.h"
#include "cpp/runtime/other_file.h"
#include "cpp/runtime/utf8.h"

namespace lane {
namespace {

static_assert(std::endian::native == std::endian::little, "a mapped GGUF file is read in place");

// Far above any model's counts, and what bounds memory should a huge sparse file claim more.
constexpr uint64_t kMaxEntries = 1 << 20;
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxTensorNameBytes = 64;
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxDim = std::numeric_limits<int64_t>::max();
constexpr uint64_t kMaxFileBytes = std::numeric_limits<int64_t>::max();
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMinAlignment = 8;
constexpr uint64_t kMaxAlignment = 2 << 20;  // the largest page that weights are commonly mapped by

// What the smallest entry takes in the file: a one-byte key and a one-byte value; a one-byte name and one dimension.
// The promise on memory follows: an entry and its place in the indices against the bytes it was read from.
constexpr uint64_t kMinValueBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;
static_assert(sizeof(GgufValue) + sizeof(uint32_t) <= 4 * kMinValueBytes);
static_assert(sizeof(GgufTensor) + 2 * sizeof(uint32_t) <= 4 * kMinTensorBytes);

// Bytes of an element; a string has at least those of its length.
constexpr uint64_t element_bytes(GgufKind kind) {
  switch (kind) {
    case GgufKind::kU8:
    case GgufKind::kI8:
    case GgufKind::kBool:
      return 1;
    case GgufKind::kU16:
    case GgufKind::kI16:
      return 2;
    case GgufKind::kU32:
    case GgufKind::kI32:
    case GgufKind::kF32:
      return 4;
    default:
      return 8;
  }
}

class PartReader {
 public:
  PartReader(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), in_(bytes, path) {}

  GgufPart read();

 private:
  void read_version();
  uint64_t read_entry_count(uint64_t min_entry_bytes, const char* field);
  GgufKind read_kind(const GgufPlace& place, const char* field);
  GgufValue read_value(uint64_t index);
  void read_elements(GgufValue& value, const GgufPlace& place);
  void check_bools(const GgufValue& value, const GgufPlace& place) const;
  void index_keys();
  void read_alignment();
  GgufTensor read_tensor(uint64_t index);
  void read_dims(GgufTensor& tensor, const GgufPlace& place);
  void read_type(GgufTensor& tensor, const GgufPlace& place);
  void set_bytes(GgufTensor& tensor, const GgufPlace& place) const;
  void place_data();
  void check_complete(uint64_t start) const;
  void check_overlaps() const;

  std::span<const std::byte> bytes_;
  GgufCursor in_;
  uint64_t alignment_ = kDefaultAlignment;
  GgufPart part_{};
};

GgufPart PartReader::read() {
  const auto magic = in_.take_bytes(4, kGgufHeader, "magic");
  if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
    const std::string_view what = describe_other_file(bytes_);
    in_.malformed(kGgufHeader, "magic",
                  in_quotes({reinterpret_cast<const char*>(magic.data()), 4}) +
                      (what.empty() ? "" : ", as that of " + std::string(what)),
                  "\"GGUF\"");
  }
  read_version();
  const uint64_t tensors = read_entry_count(kMinTensorBytes, "tensor count");
  const uint64_t values = read_entry_count(kMinValueBytes, "metadata count");
  part_.metadata.values.reserve(values);
  for (uint64_t i = 0; i < values; ++i) part_.metadata.values.push_back(read_value(i));
  index_keys();
  read_alignment();
  part_.tensors.reserve(tensors);
  for (uint64_t i = 0; i < tensors; ++i) part_.tensors.push_back(read_tensor(i));
  place_data();
  check_overlaps();
  return std::move(part_);
}

void PartReader::read_version() {
  part_.version = in_.take<uint32_t>(kGgufHeader, "version");
  if (part_.version == 2 || part_.version == 3) return;
  const std::string allowed = "2 and 3, little-endian";
  // A version is a small number: one whose low half is zero was written in the other byte order.
  if (part_.version != 0 && (part_.version & 0xFFFF) == 0) {
    in_.refuse(ErrorKind::kUnsupported, kGgufHeader, "version",
               std::to_string(__builtin_bswap32(part_.version)) + " of a big-endian file", allowed);
  }
  in_.refuse(ErrorKind::kUnsupported, kGgufHeader, "version", std::to_string(part_.version), allowed);
}

uint64_t PartReader::read_entry_count(uint64_t min_entry_bytes, const char* field) {
  const uint64_t count = in_.take_count(min_entry_bytes, kGgufHeader, field);
  if (count > kMaxEntries) {
    in_.malformed(kGgufHeader, field, std::to_string(count), "at most " + std::to_string(kMaxEntries));
  }
  return count;
}

GgufKind PartReader::read_kind(const GgufPlace& place, const char* field) {
  const auto kind = in_.take<uint32_t>(place, field);
  if (kind > static_cast<uint32_t>(GgufKind::kF64)) in_.malformed(place, field, std::to_string(kind), "0 to 12");
  return static_cast<GgufKind>(kind);
}

GgufValue PartReader::read_value(uint64_t index) {
  GgufPlace place = {"metadata entry", index, {}};
  GgufValue value{};
  value.key = in_.take_name(kMaxKeyBytes, place, "key");
  place = {"key", index, value.key};
  value.kind = read_kind(place, "kind");
  value.count = 1;
  if (value.kind == GgufKind::kArray) {
    value.is_array = true;
    value.kind = read_kind(place, "element kind");
    if (value.kind == GgufKind::kArray) {
      in_.refuse(ErrorKind::kUnsupported, place, "element kind", "array", "any other kind, as arrays are not nested");
    }
    value.count = in_.take_count(element_bytes(value.kind), place, "element count");
  }
  read_elements(value, place);
  return value;
}

void PartReader::read_elements(GgufValue& value, const GgufPlace& place) {
  if (value.kind != GgufKind::kString) {
    value.payload = in_.take_bytes(value.count * element_bytes(value.kind), place, "value");
    if (value.kind == GgufKind::kBool) check_bools(value, place);
    return;
  }
  const uint64_t start = in_.position();
  for (uint64_t i = 0; i < value.count; ++i) in_.take_string(place, "string");
  value.payload = bytes_.subspan(start, in_.position() - start);
}

void PartReader::check_bools(const GgufValue& value, const GgufPlace& place) const {
  for (const std::byte element : value.payload) {
    if (element > std::byte{1}) {
      in_.malformed(place, "bool", std::to_string(std::to_integer<unsigned>(element)), "0 and 1");
    }
  }
}

void PartReader::index_keys() {
  auto& [values, by_key] = part_.metadata;
  const auto key_of = [&values = values](uint32_t i) { return values[i].key; };
  by_key.resize(values.size());
  std::iota(by_key.begin(), by_key.end(), 0);
  std::ranges::sort(by_key, {}, key_of);
  const auto twice = std::ranges::adjacent_find(by_key, {}, key_of);
  if (twice != by_key.end()) in_.malformed({"key", *twice, key_of(*twice)}, "key", "there twice", "once");
}

void PartReader::read_alignment() {
  const GgufValue* value = part_.metadata.find(kAlignmentKey);
  if (value == nullptr) return;
  const GgufPlace place = {"key", GgufPlace::kNoIndex, kAlignmentKey};
  if (value->is_array || value->kind != GgufKind::kU32) {
    in_.malformed(place, "kind", describe_kind(*value), "u32");
  }
  alignment_ = element_of<uint32_t>(*value);
  if (!std::has_single_bit(alignment_) || alignment_ < kMinAlignment || alignment_ > kMaxAlignment) {
    in_.malformed(place, "value", std::to_string(alignment_),
                  "a power of two, " + std::to_string(kMinAlignment) + " to " + std::to_string(kMaxAlignment));
  }
}

GgufTensor PartReader::read_tensor(uint64_t index) {
  GgufPlace place = {"tensor entry", index, {}};
  GgufTensor tensor{};
  tensor.name = in_.take_name(kMaxTensorNameBytes, place, "name");
  place = {"tensor", index, tensor.name};
  read_dims(tensor, place);
  read_type(tensor, place);
  set_bytes(tensor, place);
  tensor.offset = in_.take<uint64_t>(place, "offset");
  if (tensor.offset % alignment_ != 0) {
    in_.malformed(place, "offset", std::to_string(tensor.offset),
                  "a multiple of the alignment, " + std::to_string(alignment_));
  }
  return tensor;
}

void PartReader::read_dims(GgufTensor& tensor, const GgufPlace& place) {
  tensor.n_dims = in_.take<uint32_t>(place, "dimension count");
  if (tensor.n_dims < 1 || tensor.n_dims > kMaxDims) {
    in_.malformed(place, "dimension count", std::to_string(tensor.n_dims), "1 to " + std::to_string(kMaxDims));
  }
  tensor.dims.fill(1);
  for (uint32_t d = 0; d < tensor.n_dims; ++d) {
    tensor.dims[d] = in_.take<uint64_t>(place, "dimension");
    if (tensor.dims[d] < 1 || tensor.dims[d] > kMaxDim) {
      in_.malformed(place, "dimension " + std::to_string(d), std::to_string(tensor.dims[d]), "1 to 2^63 - 1");
    }
  }
}

void PartReader::read_type(GgufTensor& tensor, const GgufPlace& place) {
  const auto id = in_.take<uint32_t>(place, "type");
  tensor.type = find_ggml_type(id);
  if (tensor.type == nullptr) {
    in_.refuse(ErrorKind::kUnsupported, place, "type", std::to_string(id),
               "the id of a known ggml type: one beyond them is of a newer ggml");
  }
}

void PartReader::set_bytes(GgufTensor& tensor, const GgufPlace& place) const {
  const GgmlType& type = *tensor.type;
  if (tensor.dims[0] % type.block_elems != 0) {
    in_.malformed(place, "dimension 0", std::to_string(tensor.dims[0]),
                  "a multiple of " + std::to_string(type.block_elems) + ", the block of " + std::string(type.name));
  }
  uint64_t bytes = tensor.dims[0] / type.block_elems;
  bool overflow = __builtin_mul_overflow(bytes, uint64_t{type.block_bytes}, &bytes);
  for (uint32_t d = 1; d < kMaxDims; ++d) overflow |= __builtin_mul_overflow(bytes, tensor.dims[d], &bytes);
  if (overflow || bytes > kMaxFileBytes) {
    std::string shape = std::to_string(tensor.dims[0]);
    for (uint32_t d = 1; d < tensor.n_dims; ++d) shape += " x " + std::to_string(tensor.dims[d]);
    in_.malformed(place, "size", "2^63 bytes or more (" + shape + ")", "what a file can hold");
  }
  tensor.bytes = bytes;
}

void PartReader::place_data() {
  // Neither sum overflows: a file's size is below 2^63.
  const uint64_t start = (in_.position() + alignment_ - 1) / alignment_ * alignment_;
  part_.data_offset = std::min(start, in_.file_bytes());
  const auto data = bytes_.subspan(part_.data_offset);
  const uint64_t most = kMaxFileBytes - start;
  for (uint64_t i = 0; i < part_.tensors.size(); ++i) {
    GgufTensor& tensor = part_.tensors[i];
    if (tensor.bytes > most || tensor.offset > most - tensor.bytes) {
      in_.malformed({"tensor", i, tensor.name}, "offset",
                    std::to_string(tensor.offset) + " of " + std::to_string(tensor.bytes) + " bytes",
                    "what a file can hold");
    }
  }
  check_complete(start);
  for (GgufTensor& tensor : part_.tensors) tensor.data = data.data() + tensor.offset;
}

void PartReader::check_complete(uint64_t start) const {
  const auto end_of = [](const GgufTensor& tensor) { return tensor.offset + tensor.bytes; };
  const auto last = std::ranges::max_element(part_.tensors, {}, end_of);
  if (last == part_.tensors.end() || start + end_of(*last) <= in_.file_bytes()) return;
  in_.malformed({"file"}, "size", std::to_string(in_.file_bytes()) + " bytes",
                std::to_string(start + end_of(*last)) + " or more, as its tensors need (" + in_quotes(last->name) +
                    " ends there): the file is incomplete, or its tensors are not its own");
}

void PartReader::check_overlaps() const {
  const auto& tensors = part_.tensors;
  std::vector<uint32_t> by_offset(tensors.size());
  std::iota(by_offset.begin(), by_offset.end(), 0);
  std::ranges::sort(by_offset, {}, [&](uint32_t i) { return tensors[i].offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const GgufTensor& before = tensors[by_offset[i - 1]];
    const GgufTensor& tensor = tensors[by_offset[i]];
    const uint64_t end = before.offset + before.bytes;
    if (tensor.offset < end) {
      in_.malformed({"tensor", by_offset[i], tensor.name}, "offset", std::to_string(tensor.offset),
                    "outside tensor " + in_quotes(before.name) + ", " + std::to_string(before.offset) + " to " +
                        std::to_string(end));
    }
  }
}

}  // namespace

std::string_view kind_name(GgufKind kind) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<uint32_t>(kind)];
}

std::string describe_kind(const GgufValue& value) {
  const std::string kind(kind_name(value.kind));
  return value.is_array ? "array of " + std::to_string(value.count) + " " + kind : kind;
}

void refuse_changed(const GgufValue& value) {
  throw Error(ErrorKind::kCheckpoint, "checkpoint: the strings of a key of " + std::to_string(value.payload.size()) +
                                          " bytes changed while the file was in use; allowed: a file that stays");
}

std::optional<uint64_t> unsigned_of(const GgufValue& value) {
  const auto not_negative = [](int64_t number) { return number < 0 ? std::nullopt : std::optional<uint64_t>(number); };
  if (value.is_array) return std::nullopt;
  switch (value.kind) {
    case GgufKind::kU8:
      return element_of<uint8_t>(value);
    case GgufKind::kU16:
      return element_of<uint16_t>(value);
    case GgufKind::kU32:
      return element_of<uint32_t>(value);
    case GgufKind::kU64:
      return element_of<uint64_t>(value);
    case GgufKind::kI8:
      return not_negative(element_of<int8_t>(value));
    case GgufKind::kI16:
      return not_negative(element_of<int16_t>(value));
    case GgufKind::kI32:
      return not_negative(element_of<int32_t>(value));
    case GgufKind::kI64:
      return not_negative(element_of<int64_t>(value));
    default:
      return std::nullopt;
  }
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(by_key, key, {}, [&](uint32_t i) { return values[i].key; });
  return at != by_key.end() && values[*at].key == key ? &values[*at] : nullptr;
}

GgufPart parse_gguf_part(std::span<const std::byte> bytes, const std::string& path) {
  return PartReader(bytes, path).read();
}

}  // namespace lane
