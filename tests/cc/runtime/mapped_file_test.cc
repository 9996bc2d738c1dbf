// A mapped file: its bytes, its life, and what is not one.
#include "cpp/runtime/mapped_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cpp/runtime/error.h"

namespace lane {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& contents) {
    const std::string path = testing::TempDir() + "/" + name;
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  static std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  static ErrorKind refusal_of(const std::string& path, ErrorKind if_unreadable) {
    try {
      MappedFile::open(path, if_unreadable);
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("checkpoint: ")) << error.what();
      return error.kind;
    }
    ADD_FAILURE() << path << " was opened";
    return {};
  }
};

TEST_F(MappedFileTest, HoldsTheFileWhereverItMoves) {
  MappedFile file = MappedFile::open(write("some", "some bytes"));
  const std::byte* address = file.bytes().data();
  MappedFile moved = std::move(file);
  MappedFile other = MappedFile::open(write("other", "other"));
  other = std::move(moved);
  EXPECT_EQ(text_of(other), "some bytes");
  EXPECT_EQ(other.bytes().data(), address);
  EXPECT_TRUE(other.path().ends_with("/some"));
}

TEST_F(MappedFileTest, AnEmptyFileHasNoBytes) {
  const MappedFile file = MappedFile::open(write("empty", ""));
  EXPECT_TRUE(file.bytes().empty());
  file.prefetch_from(0);
}

TEST_F(MappedFileTest, PrefetchTakesAnyOffset) {
  const std::string contents(100'000, 'x');
  const MappedFile file = MappedFile::open(write("large", contents));
  for (size_t offset : {0u, 1u, 4095u, 4096u, 50'001u, 99'999u, 100'000u, 200'000u}) file.prefetch_from(offset);
  EXPECT_EQ(text_of(file), contents);
}

TEST_F(MappedFileTest, RefusesWhatIsNoFileWithTheCallersKind) {
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kCheckpoint}) {
    EXPECT_EQ(refusal_of(testing::TempDir() + "/missing", kind), kind);
    EXPECT_EQ(refusal_of(testing::TempDir(), kind), kind);
    EXPECT_EQ(refusal_of("/dev/null", kind), kind);
    EXPECT_EQ(refusal_of(std::string("a\0b", 3), kind), kind);
  }
}

}  // namespace
}  // namespace lane
