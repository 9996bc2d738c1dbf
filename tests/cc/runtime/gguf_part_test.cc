// One GGUF file's bytes: what the reader gives for good ones. (The malformed ones are a table, tests/py/checkpoint.)
#include "cpp/runtime/gguf_part.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "cpp/runtime/error.h"
#include "tests/cc/runtime/gguf_bytes.h"

namespace lane {
namespace {

GgufPart parse(const std::string& bytes) { return parse_gguf_part(std::as_bytes(std::span(bytes)), "model.gguf"); }

std::string refusal_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(GgufPart, AnEmptyFileOfEachVersion) {
  for (const uint32_t version : {2u, 3u}) {
    const GgufPart part = parse(GgufBytes(0, 0, version).bytes());
    EXPECT_EQ(part.version, version);
    EXPECT_TRUE(part.metadata.values.empty());
    EXPECT_TRUE(part.tensors.empty());
    EXPECT_EQ(part.data_offset, 24u);
  }
}

TEST(GgufPart, NumbersOfEveryKind) {
  GgufBytes file(0, 4);
  file.key("a.u8", GgufKind::kU8).number<uint8_t>(200);
  file.key("a.i64", GgufKind::kI64).number<int64_t>(-5);
  file.key("a.f64", GgufKind::kF64).number(0.1);
  file.array("a.f32s", GgufKind::kF32, 2).number(1.5f).number(-2.5f);
  const GgufPart part = parse(file.bytes());
  ASSERT_EQ(part.metadata.values.size(), 4u);
  EXPECT_EQ(element_of<uint8_t>(*part.metadata.find("a.u8")), 200);
  EXPECT_EQ(element_of<int64_t>(*part.metadata.find("a.i64")), -5);
  EXPECT_EQ(element_of<double>(*part.metadata.find("a.f64")), 0.1);
  EXPECT_EQ(element_of<float>(*part.metadata.find("a.f32s"), 1), -2.5f);
  EXPECT_EQ(describe_kind(*part.metadata.find("a.f32s")), "array of 2 f32");
  EXPECT_EQ(describe_kind(*part.metadata.find("a.u8")), "u8");
  EXPECT_EQ(part.metadata.find("a.f3"), nullptr);
  EXPECT_EQ(part.metadata.find(""), nullptr);
}

TEST(GgufPart, StringsAreViewsOfTheBytes) {
  GgufBytes file(0, 2);
  file.key("one", GgufKind::kString).string("text");
  file.array("many", GgufKind::kString, 3).string("a").string("").string("bc");
  const std::string& bytes = file.bytes();
  const GgufPart part = parse(bytes);
  std::vector<std::string_view> strings;
  const auto keep = [&](std::string_view text) { strings.push_back(text); };
  for_each_string(*part.metadata.find("one"), keep);
  for_each_string(*part.metadata.find("many"), keep);
  EXPECT_EQ(strings, (std::vector<std::string_view>{"text", "a", "", "bc"}));
  for (const std::string_view text : strings) {
    EXPECT_GE(text.data(), bytes.data());
    EXPECT_LE(text.data() + text.size(), bytes.data() + bytes.size());
  }
}

TEST(GgufPart, StringsThatChangeInPlaceAreNeverReadPastTheirValue) {
  GgufBytes file(0, 1);
  file.array("many", GgufKind::kString, 3).string("a").string("").string("bc");
  const std::string good = file.bytes();
  size_t refused = 0;
  for (size_t at = good.find("many") + 20; at < good.size(); ++at) {
    std::string bytes = good;
    const GgufPart part = parse(bytes);
    bytes[at] = '\xff';
    const GgufValue& value = *part.metadata.find("many");
    uint64_t read = 0;
    const auto add = [&](std::string_view text) { read += sizeof(uint64_t) + text.size(); };
    try {
      for_each_string(value, add);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kCheckpoint);
      ++refused;
    }
    EXPECT_LE(read, value.payload.size());
  }
  EXPECT_EQ(refused, 3 * sizeof(uint64_t));  // at each byte of a length
}

TEST(GgufPart, UnsignedOfAnyIntegerKindThatIsNotNegative) {
  GgufBytes file(0, 8);
  file.key("u16", GgufKind::kU16).number<uint16_t>(65535);
  file.key("u64", GgufKind::kU64).number<uint64_t>(UINT64_MAX);
  file.key("i8", GgufKind::kI8).number<int8_t>(127);
  file.key("i16.negative", GgufKind::kI16).number<int16_t>(-1);
  file.key("i64.negative", GgufKind::kI64).number<int64_t>(INT64_MIN);
  file.key("f32", GgufKind::kF32).number(1.0f);
  file.key("bool", GgufKind::kBool).number<uint8_t>(1);
  file.array("u8s", GgufKind::kU8, 1).number<uint8_t>(1);
  const GgufPart part = parse(file.bytes());
  const auto of = [&](const char* key) { return unsigned_of(*part.metadata.find(key)); };
  EXPECT_EQ(of("u16"), 65535u);
  EXPECT_EQ(of("u64"), UINT64_MAX);
  EXPECT_EQ(of("i8"), 127u);
  for (const char* key : {"i16.negative", "i64.negative", "f32", "bool", "u8s"}) EXPECT_EQ(of(key), std::nullopt);
}

TEST(GgufPart, TensorsHaveTheirShapeSizeAndData) {
  GgufBytes file(3, 1);
  file.key("general.alignment", GgufKind::kU32).number<uint32_t>(64);
  file.tensor("matrix", {64, 3}, 8, 64).tensor("vector", {5}, 0, 0).tensor("cube", {2, 1, 3, 1}, 1, 320);
  file.data(332, 'd', 64);
  const std::string& bytes = file.bytes();
  const GgufPart part = parse(bytes);
  EXPECT_EQ(part.data_offset % 64, 0u);
  ASSERT_EQ(part.tensors.size(), 3u);
  const GgufTensor& matrix = part.tensors[0];
  EXPECT_EQ(matrix.name, "matrix");
  EXPECT_EQ(matrix.type->name, "Q8_0");
  EXPECT_EQ(matrix.n_dims, 2u);
  EXPECT_EQ(matrix.dims, (std::array<uint64_t, 4>{64, 3, 1, 1}));
  EXPECT_EQ(matrix.bytes, 2u * 34 * 3);
  EXPECT_EQ(matrix.offset, 64u);
  EXPECT_EQ(reinterpret_cast<const char*>(matrix.data), bytes.data() + part.data_offset + 64);
  EXPECT_EQ(part.tensors[1].bytes, 20u);
  EXPECT_EQ(part.tensors[2].bytes, 12u);
  EXPECT_EQ(part.tensors[2].n_dims, 4u);
}

TEST(GgufPart, DataMayEndWithTheLastTensorAndHaveGaps) {
  const std::string good = GgufBytes(2, 0).tensor("b", {8}, 0, 96).tensor("a", {1}, 24, 0).data(128, 0).bytes();
  EXPECT_EQ(parse(good).tensors.size(), 2u);
  EXPECT_NE(refusal_of(good.substr(0, good.size() - 1)).find("(\"b\" ends there): the file is incomplete"),
            std::string::npos);
}

TEST(GgufPart, ARefusalNamesFileObjectFieldFoundAndAllowed) {
  EXPECT_EQ(refusal_of(GgufBytes(1, 0).tensor("w", {0}, 0, 0).data(32, 0).bytes()),
            "checkpoint: \"model.gguf\": tensor \"w\": dimension 0 is 0; allowed: 1 to 2^63 - 1");
  EXPECT_EQ(refusal_of(GgufBytes(0, 0).bytes().substr(0, 10)),
            "checkpoint: \"model.gguf\": header: tensor count at byte 8 is truncated: it takes 8 bytes; "
            "allowed: at most 2, where the file ends");
}

TEST(GgufPart, RefusalsHaveTheirKind) {
  const auto kind_of = [](const std::string& bytes) {
    try {
      parse(bytes);
    } catch (const Error& error) {
      return error.kind;
    }
    return ErrorKind::kUsage;
  };
  EXPECT_EQ(kind_of("GGML"), ErrorKind::kCheckpoint);
  EXPECT_EQ(kind_of(GgufBytes(0, 0, 1).bytes()), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(GgufBytes(0, 0, 3 << 24).bytes()), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(GgufBytes(1, 0).tensor("w", {32}, 43, 0).data(32, 0).bytes()), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(GgufBytes(1, 0).tensor("w", {32}, 0, 1).data(256, 0).bytes()), ErrorKind::kCheckpoint);
}

}  // namespace
}  // namespace lane
