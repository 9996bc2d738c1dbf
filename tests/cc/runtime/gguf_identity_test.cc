// A checkpoint opened by its identity: the same files and no others, nothing of them parsed.
#include "cpp/runtime/gguf_identity.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "cpp/runtime/error.h"
#include "cpp/runtime/gguf.h"
#include "tests/cc/runtime/gguf_bytes.h"

namespace lane {
namespace {

class GgufIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  static std::string whole() {
    return GgufBytes(1, 1).key("k", GgufKind::kString).string("v").tensor("a", {4}, 0, 0).data(16, 'd').bytes();
  }

  static std::string part(uint16_t index, const char* tensor) {
    return GgufBytes(1, 3)
        .key("split.no", GgufKind::kU16)
        .number(index)
        .key("split.count", GgufKind::kU16)
        .number<uint16_t>(2)
        .key("split.tensors.count", GgufKind::kI32)
        .number<int32_t>(2)
        .tensor(tensor, {4}, 0, 0)
        .data(16, static_cast<char>('0' + index))
        .bytes();
  }

  static std::string refusal_of(const std::string& path, const GgufIdentity& identity,
                                ErrorKind kind = ErrorKind::kCheckpoint) {
    try {
      open_known_checkpoint(path, identity);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, kind) << error.what();
      return error.what();
    }
    return "none";
  }

  std::string folder_;
};

TEST_F(GgufIdentityTest, OpensTheFileThatItIsOf) {
  const std::string path = write("model.gguf", whole());
  const GgufFile parsed = GgufFile::open(path);
  const GgufIdentity identity = parsed.identity();
  EXPECT_EQ(identity.head_bytes, std::vector<uint64_t>{parsed.data_offset(0)});
  const std::vector<MappedFile> files = open_known_checkpoint(path, identity);
  ASSERT_EQ(files.size(), 1u);
  const std::span<const std::byte> bytes = files[0].bytes();
  ASSERT_EQ(bytes.size(), whole().size());
  EXPECT_EQ(std::memcmp(bytes.data() + identity.head_bytes[0], parsed.tensor(0).data, 16), 0);
}

TEST_F(GgufIdentityTest, RefusesAnotherHeadButNotOtherWeights) {
  const GgufIdentity identity = GgufFile::open(write("model.gguf", whole())).identity();
  const size_t head_bytes = identity.head_bytes[0];
  for (size_t at = 0; at < whole().size(); ++at) {
    std::string changed = whole();
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const std::string said = refusal_of(write("changed.gguf", changed), identity);
    EXPECT_EQ(said.find("SHA-256 of what precedes the data") != std::string::npos, at < head_bytes) << at << said;
  }
}

TEST_F(GgufIdentityTest, RefusesAnotherSize) {
  const GgufIdentity identity = GgufFile::open(write("model.gguf", whole())).identity();
  const std::string sizes = " bytes; allowed: " + std::to_string(whole().size()) + ", those of the checkpoint";
  for (const std::string& bytes : {whole() + "x", whole().substr(0, whole().size() - 1), std::string()}) {
    const std::string said = refusal_of(write("other.gguf", bytes), identity);
    EXPECT_NE(said.find(std::to_string(bytes.size()) + sizes), std::string::npos) << said;
  }
}

TEST_F(GgufIdentityTest, OpensAllFilesOfASplitCheckpoint) {
  const std::string first = write("m-00001-of-00002.gguf", part(0, "a"));
  const std::string second = write("m-00002-of-00002.gguf", part(1, "b"));
  const GgufIdentity identity = GgufFile::open(first).identity();
  const std::vector<MappedFile> files = open_known_checkpoint(first, identity);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].path(), second);
  EXPECT_EQ(static_cast<char>(files[1].bytes()[identity.head_bytes[1]]), '1');
  EXPECT_NE(refusal_of(second, identity, ErrorKind::kUsage).find("file 2; allowed: the first of 2"), std::string::npos);
  EXPECT_NE(refusal_of(write("m.gguf", part(0, "a")), identity).find("the first of 2 files"), std::string::npos);
  write("m-00002-of-00002.gguf", part(1, "c"));
  EXPECT_NE(refusal_of(first, identity).find("SHA-256"), std::string::npos);
  std::filesystem::remove(second);
  EXPECT_NE(refusal_of(first, identity).find("m-00002-of-00002.gguf\": cannot be opened"), std::string::npos);
}

TEST_F(GgufIdentityTest, RefusesWhatIsNoIdentity) {
  const std::string path = write("model.gguf", whole());
  const GgufIdentity identity = GgufFile::open(path).identity();
  GgufIdentity longer = identity, uneven = identity;
  longer.head_bytes[0] = identity.part_bytes[0] + 1;
  uneven.head_bytes.push_back(1);
  for (const GgufIdentity& wrong : {GgufIdentity{}, longer, uneven}) {
    EXPECT_NE(refusal_of(path, wrong, ErrorKind::kUsage).find("1 or more"), std::string::npos);
  }
  EXPECT_NE(refusal_of(folder_ + "/none", identity, ErrorKind::kUsage).find("cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace lane
