// Files that are cut short while they are mapped: their readers get zeros and are told.
#include "cpp/runtime/lost_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cpp/runtime/error.h"
#include "cpp/runtime/mapped_file.h"

namespace lane {
namespace {

constexpr size_t kPages = 4;
const size_t kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

std::string file_of_ones(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << std::string(kPages * kPage, '\1');
  return path;
}

size_t ones(const MappedFile& file) { return std::ranges::count(file.bytes(), std::byte{1}); }

void expect_lost(const MappedFile& file) {
  try {
    file.require_whole();
    ADD_FAILURE() << file.path() << " is whole";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kCheckpoint);
    EXPECT_NE(std::string(error.what()).find("were lost while it was in use"), std::string::npos) << error.what();
  }
}

TEST(LostPagesTest, WhatWasCutOffReadsAsZerosAndIsToldOf) {
  const std::string path = file_of_ones("cut");
  const MappedFile file = MappedFile::open(path), other = MappedFile::open(file_of_ones("whole"));
  EXPECT_EQ(ones(file), kPages * kPage);
  ASSERT_EQ(::truncate(path.c_str(), kPage + 1), 0);
  file.require_whole();  // nothing that is gone was read yet
  EXPECT_EQ(ones(file), kPage + 1);
  expect_lost(file);
  EXPECT_EQ(ones(other), kPages * kPage);
  other.require_whole();
}

TEST(LostPagesTest, AWatchMovesWithItsFile) {
  const std::string path = file_of_ones("moved");
  MappedFile file = MappedFile::open(path);
  MappedFile moved = std::move(file);
  MappedFile other = MappedFile::open(file_of_ones("other"));
  std::swap(moved, other);
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  EXPECT_EQ(ones(other), 0);
  expect_lost(other);
  EXPECT_EQ(ones(moved), kPages * kPage);
  moved.require_whole();
}

TEST(LostPagesTest, AnotherFileInItsPlaceIsWhole) {
  for (int i = 0; i < 3; ++i) {
    const std::string path = file_of_ones("again");
    const MappedFile file = MappedFile::open(path);
    EXPECT_EQ(ones(file), kPages * kPage);
    file.require_whole();
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    EXPECT_EQ(ones(file), 0);
    expect_lost(file);
  }
}

TEST(LostPagesTest, ThreadsMayReadAtOnce) {
  const std::string path = file_of_ones("threads");
  const MappedFile file = MappedFile::open(path);
  ASSERT_EQ(::truncate(path.c_str(), kPage), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(ones(file), kPage); });
  for (std::thread& thread : threads) thread.join();
  expect_lost(file);
}

TEST(LostPagesDeathTest, OtherMappingsAreNoneOfItsBusiness) {
  const MappedFile watched = MappedFile::open(file_of_ones("watched"));
  const auto read_what_is_gone = [] {
    const std::string path = file_of_ones("own");
    std::FILE* file = std::fopen(path.c_str(), "rb");
    const auto* bytes =
        static_cast<const volatile char*>(::mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE, ::fileno(file), 0));
    if (::truncate(path.c_str(), 0) == 0) std::exit(bytes[0]);
  };
  EXPECT_EXIT(read_what_is_gone(), testing::KilledBySignal(SIGBUS), "");
}

TEST(LostPagesDeathTest, AHandlerThatWasThereBeforeIsStillAsked) {
  const auto ends_by_its_own_handler = [] {
    std::signal(SIGBUS, [](int) { std::_Exit(7); });
    const MappedFile watched = MappedFile::open(file_of_ones("handled"));
    std::raise(SIGBUS);
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(ends_by_its_own_handler(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace lane
