// Plan files: what the reader gives for a good one, and that no other words pass: they are refused, or what they say
// runs inside its memory. The words lie in an allocation of their exact size, so that a sanitizer sees the first read
// past them.
#include "cpp/embed/plan_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cpp/embed/engine.h"
#include "cpp/runtime/error.h"
#include "tests/cc/embed/tiny_model.h"

namespace lane::embed {
namespace {

using Words = std::vector<std::int64_t>;

// What the reader says of the words; "read" if nothing.
std::string said_of(std::span<const std::int64_t> words, ErrorKind kind = ErrorKind::kCheckpoint) {
  const auto exact = std::make_unique<std::int64_t[]>(words.size());
  std::copy(words.begin(), words.end(), exact.get());
  try {
    parse_plan({exact.get(), words.size()}, "some.plan");
    return "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, kind) << error.what();
    return error.what();
  }
}

class PlanFile : public TinyModel {
 protected:
  // Opens an engine on the words and, if it opens, runs all that it offers.
  void run(const Words& words) {
    const std::string path = write_words("mutated.plan", words);
    try {
      const auto engine = std::make_shared<Engine>(checkpoint_, path, 1);
      ++opened_;
      Session session(engine);
      std::vector<float> logits(static_cast<std::size_t>(engine->vocab()));
      const std::vector<std::int32_t> prompt(static_cast<std::size_t>(std::min<std::int64_t>(9, engine->context())), 0);
      session.prefill(prompt);
      session.decode(2);
      session.read_logits(logits);
      session.reset();
      session.decode(1);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("allowed"), std::string::npos) << error.what();
      EXPECT_NE(error.kind, ErrorKind::kFault) << error.what();
    }
  }

  int opened_ = 0;
};

TEST_F(PlanFile, IsReadAsItWasWritten) {
  const Words words = read_plan_words(plan_);
  const Plan expected = plan(), found = parse_plan(words, plan_);
  EXPECT_EQ(found.numerics, expected.numerics);
  EXPECT_EQ(found.context, kContext);
  EXPECT_EQ(found.threads, kThreads);
  EXPECT_EQ(found.identity, expected.identity);
  ASSERT_EQ(found.matrices.size(), 1u);
  EXPECT_EQ(found.matrices[0].rows, kVocab);
  ASSERT_EQ(found.matrices[0].runs.size(), 2u);
  EXPECT_EQ(found.matrices[0].runs[1].offset, expected.matrices[0].runs[1].offset);
  ASSERT_EQ(found.constants.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(found.constants[0].bytes, expected.constants[0].bytes));
  EXPECT_EQ(found.state_bytes, kStateBytes);
  EXPECT_EQ(found.io.logits, kLogits);
  EXPECT_EQ(found.io.vocab, kVocab);
  ASSERT_EQ(found.io.carried.size(), 1u);
  EXPECT_EQ(found.io.carried[0].bytes, kRowBytes);
  ASSERT_EQ(found.forms.size(), 2u);
  EXPECT_EQ(found.forms[1].rows, kChunk);
  EXPECT_TRUE(std::ranges::equal(found.forms[1].table, expected.forms[1].table));
  EXPECT_TRUE(std::ranges::equal(found.forms[1].records, expected.forms[1].records));
}

TEST_F(PlanFile, EveryPrefixAndEveryFlippedBitIsRefused) {
  const Words good = read_plan_words(plan_);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_NE(said_of(std::span(good).first(length)), "read") << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 64; bit += 7) {
      Words words = good;
      words[at] ^= std::int64_t{1} << bit;
      EXPECT_NE(said_of(words, at == 1 ? ErrorKind::kUnsupported : ErrorKind::kCheckpoint), "read") << at;
    }
  }
}

TEST_F(PlanFile, RefusesTheLaunchRecordsOfAnotherVersion) {
  Words words = read_plan_words(plan_);
  words[kHeadWords] ^= 1;
  seal(words);
  const std::string said = said_of(words, ErrorKind::kUnsupported);
  EXPECT_NE(said.find("launch records: found"), std::string::npos) << said;
}

TEST_F(PlanFile, RefusesWhatDoesNotHoldTogether) {
  const struct {
    const char* said;
    void (*change)(Plan&);
  } cases[] = {
      {"numerics: found 3", [](Plan& p) { p.numerics = 3; }},
      {"context: found 0", [](Plan& p) { p.context = 0; }},
      {"vocabulary: found 0", [](Plan& p) { p.io.vocab = 0; }},
      {"threads: found 0", [](Plan& p) { p.threads = 0; }},
      {"parts: found 0, allowed 1 up", [](Plan& p) { p.identity = {}; }},
      {"head bytes", [](Plan& p) { p.identity.head_bytes[0] = p.identity.part_bytes[0] + 1; }},
      {"run 0: part: found 1, allowed 0 to 0", [](Plan& p) { p.matrices[0].runs[0].part = 1; }},
      {"run 0: offset: found 0", [](Plan& p) { p.matrices[0].runs[0].offset = 0; }},
      {"run 1: bytes: found 161", [](Plan& p) { p.matrices[0].runs[1].bytes = 161; }},
      {"run 1: rows: found 0", [](Plan& p) { p.matrices[0].runs[1].rows = 0; }},
      {"constant 0: offset: found 65", [](Plan& p) { p.constants[0].offset = 65; }},
      {"constant 0: bytes: found 32, allowed 0 to 24", [](Plan& p) { p.constants[0].offset = 40; }},
      {"carried range 0: bytes", [](Plan& p) { p.io.carried[0].bytes = kStateBytes; }},
      {"token: found 4 bytes at 2", [](Plan& p) { p.io.token = 2; }},
      {"position: found 4 bytes at 256", [](Plan& p) { p.io.pos = kStateBytes; }},
      {"logits: found 32 bytes at 228", [](Plan& p) { p.io.logits = 228; }},
      {"form 1: rows: found 4, allowed 1 to 1", [](Plan& p) { p.io.tokens = kStateBytes - 4; }},
      {"form 1: found rows of several sequences", [](Plan& p) { p.forms[1].sequences = 2; }},
      {"arena bytes: found -1", [](Plan& p) { p.forms[0].arena_bytes = -1; }},
      {"one of 1 rows twice", [](Plan& p) { p.forms[1].rows = 1; }},
      {"none over one row", [](Plan& p) { p.forms[0].rows = 2; }},
  };
  for (const auto& broken : cases) {
    Plan plan = this->plan();
    broken.change(plan);
    const std::string said = said_of(PlanWords(plan).words());
    EXPECT_NE(said.find(broken.said), std::string::npos) << broken.said << "; but: " << said;
  }
}

TEST_F(PlanFile, WhatItsDeviceLacksIsUnsupported) {
  for (const bool all : {true, false}) {
    Plan plan = this->plan();
    plan.forms[1].all = all;
    if (!all) plan.forms[1] = {1, false, 2, plan.forms[0].arena_bytes, plan.forms[0].table, plan.forms[0].records};
    const std::string path = write_words("other.plan", PlanWords(plan).words());
    try {
      Engine(checkpoint_, path, 1);
      ADD_FAILURE() << "opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kUnsupported) << error.what();
    }
  }
}

TEST_F(PlanFile, MoreThanTheMachineHoldsIsCapacity) {
  for (const bool arena : {true, false}) {
    Plan plan = this->plan();
    (arena ? plan.forms[0].arena_bytes : plan.state_bytes) = std::int64_t{1} << 60;
    const std::string path = write_words("huge.plan", PlanWords(plan).words());
    try {
      Engine(checkpoint_, path, 1);
      ADD_FAILURE() << "opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kCapacity) << error.what();
    }
  }
}

// Words with a digest that fits them. None is between 2^24 and 2^48: what a test may not allocate.
TEST_F(PlanFile, EveryWordAtItsBoundsIsRefusedOrRuns) {
  const Words good = read_plan_words(plan_);
  for (std::size_t at = kHeadWords; at < good.size(); ++at) {
    for (const std::int64_t value :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{-1}, std::int64_t{1} << 20, good[at] + 1,
          good[at] - 1, std::int64_t{1} << 50, INT64_MAX, INT64_MIN}) {
      Words words = good;
      words[at] = value;
      seal(words);
      run(words);
    }
  }
  EXPECT_GT(opened_, 0);
}

TEST_F(PlanFile, RandomWordsAreRefusedOrRun) {
  const Words good = read_plan_words(plan_);
  std::mt19937 random(1);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (int i = 0; i < 4000; ++i) {
    Words words = good;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      std::int64_t& word = words[kHeadWords + below(words.size() - kHeadWords)];
      word = below(3) == 0 ? words[kHeadWords + below(words.size() - kHeadWords)] % (1 << 20)
                           : word + static_cast<std::int64_t>(below(9)) * 4 - 16;
    }
    if (below(8) == 0) words.insert(words.begin() + static_cast<std::ptrdiff_t>(kHeadWords + below(9)), 0);
    words[2] = std::ssize(words);
    seal(words);
    run(words);
  }
  EXPECT_GT(opened_, 0);
}

}  // namespace
}  // namespace lane::embed
