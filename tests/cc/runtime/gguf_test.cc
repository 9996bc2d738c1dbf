// A checkpoint in one file and in several: found by name and by index, identified, and kept while it moves.
#include "cpp/runtime/gguf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cpp/runtime/error.h"
#include "tests/cc/runtime/gguf_bytes.h"

namespace lane {
namespace {

class GgufFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  std::string write(const std::string& name, const GgufBytes& file) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << file.bytes();
    return path;
  }

  static GgufBytes whole() {
    return GgufBytes(2, 1)
        .key("general.architecture", GgufKind::kString)
        .string("test")
        .tensor("a", {4}, 0, 32)
        .tensor("b", {8}, 0, 0)
        .data(48, 'd');
  }

  static GgufBytes part(uint16_t index, const char* tensor) {
    return GgufBytes(1, 3)
        .key("split.no", GgufKind::kU16)
        .number(index)
        .key("split.count", GgufKind::kU16)
        .number<uint16_t>(2)
        .key("split.tensors.count", GgufKind::kI32)
        .number<int32_t>(2)
        .tensor(tensor, {4}, 0, 0)
        .data(16, static_cast<char>('0' + index));
  }

  static std::string refusal_of(const std::string& path, ErrorKind kind) {
    try {
      GgufFile::open(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, kind) << error.what();
      return error.what();
    }
    return "none";
  }

  std::string folder_;
};

TEST_F(GgufFileTest, FindsTensorsByNameAndIndexAlsoOnceMoved) {
  GgufFile opened = GgufFile::open(write("model.gguf", whole()));
  const std::byte* data = opened.tensor(0).data;
  const GgufFile file = std::move(opened);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensor(0).name, "a");
  EXPECT_EQ(file.tensor(0).data, data);
  EXPECT_EQ(file.find_tensor("b"), &file.tensor(1));
  EXPECT_EQ(file.find_tensor("c"), nullptr);
  EXPECT_EQ(file.find_tensor(""), nullptr);
  EXPECT_EQ(static_cast<char>(file.tensor(0).data[15]), 'd');
  EXPECT_NE(file.metadata().find("general.architecture"), nullptr);
}

TEST_F(GgufFileTest, AMoveReplacesAnOpenFile) {
  GgufFile file = GgufFile::open(write("model.gguf", whole()));
  file = GgufFile::open(write("m-00001-of-00001.gguf", whole()));
  EXPECT_EQ(file.parts(), 1u);
  EXPECT_EQ(static_cast<char>(file.find_tensor("b")->data[0]), 'd');
}

TEST_F(GgufFileTest, OpensAllPartsOfASplitCheckpoint) {
  const std::string first = write("m-00001-of-00002.gguf", part(0, "a"));
  const std::string second = write("m-00002-of-00002.gguf", part(1, "b"));
  const GgufFile file = GgufFile::open(first);
  EXPECT_EQ(file.parts(), 2u);
  EXPECT_EQ(file.part_path(1), second);
  EXPECT_EQ(file.find_tensor("b")->part, 1u);
  EXPECT_EQ(static_cast<char>(file.find_tensor("b")->data[0]), '1');
  EXPECT_EQ(file.identity().part_bytes,
            (std::vector<uint64_t>{part(0, "a").bytes().size(), part(1, "b").bytes().size()}));
  EXPECT_NE(refusal_of(second, ErrorKind::kUsage).find("m-00001-of-00002.gguf"), std::string::npos);
}

TEST_F(GgufFileTest, NamesTheFileThatATensorIsThereTwiceIn) {
  const std::string first = write("m-00001-of-00002.gguf", part(0, "a"));
  write("m-00002-of-00002.gguf", part(1, "a"));
  EXPECT_NE(
      refusal_of(first, ErrorKind::kCheckpoint).find("m-00002-of-00002.gguf\": tensor \"a\": name is there twice"),
      std::string::npos);
}

TEST_F(GgufFileTest, AMissingPartIsTheCheckpointsFault) {
  const std::string first = write("m-00001-of-00002.gguf", part(0, "a"));
  EXPECT_NE(refusal_of(first, ErrorKind::kCheckpoint).find("m-00002-of-00002.gguf"), std::string::npos);
  EXPECT_NE(refusal_of(folder_ + "/none.gguf", ErrorKind::kUsage).find("cannot be opened"), std::string::npos);
}

TEST_F(GgufFileTest, IdentityIsOfTheHeadAndTheSize) {
  const GgufIdentity identity = GgufFile::open(write("model.gguf", whole())).identity();
  EXPECT_EQ(GgufFile::open(write("copy.gguf", whole())).identity(), identity);
  EXPECT_NE(GgufFile::open(write("longer.gguf", whole().data(8, 'd', 1))).identity(), identity);
  Sha256 head;
  const std::string bytes = whole().bytes();
  head.update(std::as_bytes(std::span(bytes)).first(bytes.size() - 48));
  EXPECT_EQ(identity.head_sha256, head.finish());
}

}  // namespace
}  // namespace lane
