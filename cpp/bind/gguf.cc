// In: a checkpoint's path. Out: lane::GgufFile as lane._core.GgufFile. Metadata becomes Python values when it is asked
// for; a tensor's data is a read-only view of the mapping, which keeps the file open.
#include "cpp/runtime/gguf.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using lane::GgufFile;
using lane::GgufKind;
using lane::GgufTensor;
using lane::GgufValue;

nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }

const GgufValue& value_of(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.metadata().find(key);
  if (value == nullptr) {
    file.require_whole();
    throw nb::key_error(std::string(key).c_str());
  }
  return *value;
}

template <typename T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// An array that owns its elements.
template <typename T>
Array<T> to_array(std::unique_ptr<T[]> elements, size_t count) {
  T* data = elements.get();
  nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
  elements.release();
  return Array<T>(data, {count}, owner);
}

// One element, or all of them copied: the file holds them unaligned.
template <typename T>
nb::object numbers(const GgufValue& value) {
  if (!value.is_array) return nb::cast(lane::element_of<T>(value));
  auto elements = std::make_unique<T[]>(value.count);
  if (value.count > 0) std::memcpy(elements.get(), value.payload.data(), value.payload.size());
  return nb::cast(to_array(std::move(elements), value.count));
}

nb::object strings(const GgufValue& value) {
  nb::list texts;
  lane::for_each_string(value, [&](std::string_view text) { texts.append(to_str(text)); });
  return value.is_array ? nb::object(texts) : nb::object(texts[0]);
}

nb::object to_object(const GgufValue& value) {
  switch (value.kind) {
    case GgufKind::kU8:
      return numbers<uint8_t>(value);
    case GgufKind::kI8:
      return numbers<int8_t>(value);
    case GgufKind::kU16:
      return numbers<uint16_t>(value);
    case GgufKind::kI16:
      return numbers<int16_t>(value);
    case GgufKind::kU32:
      return numbers<uint32_t>(value);
    case GgufKind::kI32:
      return numbers<int32_t>(value);
    case GgufKind::kF32:
      return numbers<float>(value);
    case GgufKind::kBool:
      return numbers<bool>(value);
    case GgufKind::kString:
      return strings(value);
    case GgufKind::kU64:
      return numbers<uint64_t>(value);
    case GgufKind::kI64:
      return numbers<int64_t>(value);
    case GgufKind::kF64:
      return numbers<double>(value);
    case GgufKind::kArray:
      break;  // the reader refuses arrays of arrays
  }
  throw std::logic_error("a metadata value of no kind");
}

nb::object get(const GgufFile& file, std::string_view key) {
  nb::object value = to_object(value_of(file, key));
  file.require_whole();
  return value;
}

void open(GgufFile* self, const nb::bytes& path) {
  new (self) GgufFile(GgufFile::open(std::string(path.c_str(), path.size())));
}

std::tuple<std::string, nb::object> kind(const GgufFile& file, std::string_view key) {
  const GgufValue& value = value_of(file, key);
  return {std::string(lane::kind_name(value.kind)), value.is_array ? nb::cast(value.count) : nb::none()};
}

// Every string's bytes, one after the other, and where each starts (and, past the last, ends).
std::tuple<nb::bytes, Array<int64_t>> string_table(const GgufFile& file, std::string_view key) {
  const GgufValue& value = value_of(file, key);
  if (value.kind != GgufKind::kString) throw nb::type_error("string_table: not a value of strings");
  std::string blob;
  blob.reserve(value.payload.size() - value.count * sizeof(uint64_t));
  auto offsets = std::make_unique<int64_t[]>(value.count + 1);
  size_t i = 0;
  lane::for_each_string(value, [&](std::string_view text) {
    blob += text;
    offsets[++i] = static_cast<int64_t>(blob.size());
  });
  file.require_whole();
  return {nb::bytes(blob.data(), blob.size()), to_array(std::move(offsets), value.count + 1)};
}

nb::list keys(const GgufFile& file) {
  nb::list names;
  for (const GgufValue& value : file.metadata().values) names.append(to_str(value.key));
  file.require_whole();
  return names;
}

nb::list parts(const GgufFile& file) {
  nb::list paths;
  for (size_t part = 0; part < file.parts(); ++part) {
    const std::string& path = file.part_path(part);
    paths.append(nb::bytes(path.data(), path.size()));
  }
  return paths;
}

std::vector<uint64_t> part_bytes(const GgufFile& file) {
  std::vector<uint64_t> sizes;
  for (size_t part = 0; part < file.parts(); ++part) sizes.push_back(file.part_bytes(part));
  return sizes;
}

std::vector<uint64_t> data_offsets(const GgufFile& file) {
  std::vector<uint64_t> offsets;
  for (size_t part = 0; part < file.parts(); ++part) offsets.push_back(file.data_offset(part));
  return offsets;
}

nb::list tensors(const GgufFile& file) {
  nb::list records;
  for (const GgufTensor& tensor : file.tensors()) {
    nb::list shape;
    for (uint32_t d = 0; d < tensor.n_dims; ++d) shape.append(tensor.dims[d]);
    records.append(nb::make_tuple(to_str(tensor.name), nb::tuple(shape), to_str(tensor.type->name), tensor.offset,
                                  tensor.bytes, tensor.part));
  }
  file.require_whole();
  return records;
}

// The view's owner is the file's Python object.
nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>> tensor_data(nb::handle_t<GgufFile> self, std::string_view name) {
  const auto& file = nb::cast<const GgufFile&>(self);
  const GgufTensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) {
    file.require_whole();
    throw nb::key_error(std::string(name).c_str());
  }
  return {reinterpret_cast<const uint8_t*>(tensor->data), {tensor->bytes}, self};
}

std::tuple<std::vector<uint64_t>, std::string> identity(const GgufFile& file) {
  const lane::GgufIdentity identity = file.identity();
  return {identity.part_bytes, lane::to_hex(identity.head_sha256)};
}

nb::list ggml_types() {
  nb::list types;
  for (const lane::GgmlType& type : lane::kGgmlTypes) {
    types.append(nb::make_tuple(type.id, to_str(type.name), type.block_elems, type.block_bytes));
  }
  return types;
}

}  // namespace

void bind_gguf(nb::module_& m) {
  nb::class_<GgufFile>(m, "GgufFile", "A mapped GGUF checkpoint, in one file or split into several.")
      .def("__init__", &open, "path"_a,
           "Opens the file, or the first of the files that a checkpoint was split into and with it the others.")
      .def_prop_ro("version", &GgufFile::version)
      .def_prop_ro("parts", &parts, nb::sig("def parts(self) -> list[bytes]"), "The files' paths.")
      .def_prop_ro("part_bytes", &part_bytes, "Each file's size, as it was when it was opened.")
      .def_prop_ro("data_offsets", &data_offsets, "Where each part's data section starts, in bytes.")
      .def("keys", &keys, nb::sig("def keys(self) -> list[str]"))
      .def("kind", &kind, "key"_a, nb::sig("def kind(self, key: str) -> tuple[str, int | None]"),
           "The kind of a value; or of an array's elements, and their number.")
      .def("get", &get, "key"_a, "A number, bool or str; for an array a numpy array or a list of str.")
      .def("string_table", &string_table, "key"_a,
           nb::sig("def string_table(self, key: str) -> tuple[bytes, numpy.typing.NDArray[numpy.int64]]"),
           "All strings of a value end to end, and the offsets at which each starts and the last ends.")
      .def("tensors", &tensors, nb::sig("def tensors(self) -> list[tuple[str, tuple[int, ...], str, int, int, int]]"),
           "Of each: name, shape (innermost dimension first), type, offset in its part's data section, bytes, part.")
      .def("tensor_data", &tensor_data, "name"_a,
           nb::sig("def tensor_data(self, name: str) -> numpy.typing.NDArray[numpy.uint8]"),
           "The bytes of a tensor as the file holds them: a read-only view that keeps the file mapped.")
      .def("require_whole", &GgufFile::require_whole,
           "CheckpointError if a file was cut short while in use: what was lost reads as zeros.")
      .def("identity", &identity, "The size of each part, and the SHA-256 of all that precedes the data sections.")
      .def("prefetch", &GgufFile::prefetch, "Starts reading the weights in the background.");

  m.def("ggml_types", &ggml_types, nb::sig("def ggml_types() -> list[tuple[int, str, int, int]]"),
        "Every tensor type: id, name, values and bytes of a block.");
}
