// The C interface: generation, sessions beside one another, and what is refused, by code and by text.
#include "cpp/embed/lane.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/embed/tiny_model.h"

namespace lane::embed {
namespace {

using Tokens = std::vector<std::int32_t>;

// What follows a token.
Tokens chain(std::int32_t token, std::size_t count) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(token = next_of(token));
  return tokens;
}

class Lane : public TinyModel {
 protected:
  void SetUp() override {
    TinyModel::SetUp();
    ASSERT_EQ(lane_open(checkpoint_.c_str(), plan_.c_str(), 2, &engine_), LANE_DONE) << lane_error_text();
    ASSERT_EQ(lane_session_open(engine_, &session_), LANE_DONE);
  }

  void TearDown() override {
    lane_session_close(session_);
    lane_close(engine_);
  }

  static Tokens generate(lane_session* session, const Tokens& prompt, std::size_t count) {
    Tokens tokens;
    EXPECT_EQ(lane_prefill(session, prompt.data(), prompt.size()), LANE_DONE) << lane_error_text();
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) {
        EXPECT_EQ(lane_decode(session, 1), LANE_DONE) << lane_error_text();
      }
      tokens.push_back(token_of(session));
    }
    return tokens;
  }

  static std::int32_t token_of(lane_session* session) {
    std::int32_t token = -1;
    EXPECT_EQ(lane_token(session, &token), LANE_DONE);
    return token;
  }

  static std::int64_t position_of(lane_session* session) {
    std::int64_t position = -1;
    EXPECT_EQ(lane_position(session, &position), LANE_DONE);
    return position;
  }

  static std::vector<float> logits_of(lane_session* session) {
    std::vector<float> logits(kVocab);
    EXPECT_EQ(lane_logits(session, logits.data(), logits.size()), LANE_DONE);
    return logits;
  }

  lane_engine* engine_ = nullptr;
  lane_session* session_ = nullptr;
};

TEST_F(Lane, GeneratesAfterPromptsOfAnyLength) {
  for (std::size_t length = 1; length < 20; ++length) {
    Tokens prompt(length, 5);
    prompt.back() = 2;
    EXPECT_EQ(generate(session_, prompt, 6), chain(2, 6));
    EXPECT_EQ(position_of(session_), static_cast<std::int64_t>(length) + 5);
    ASSERT_EQ(lane_reset(session_), LANE_DONE);
    EXPECT_EQ(position_of(session_), 0);
    EXPECT_EQ(logits_of(session_), std::vector<float>(kVocab));
  }
}

TEST_F(Lane, LogitsAreOfTheLastToken) {
  const Tokens prompt = {1, 2, 3, 4, 5, 6, 7};
  ASSERT_EQ(lane_prefill(session_, prompt.data(), prompt.size()), LANE_DONE);
  std::vector<float> expected;
  for (std::int32_t of = 0; of < kVocab; ++of) expected.push_back(weight(7, of) + kBias);
  EXPECT_EQ(logits_of(session_), expected);
}

TEST_F(Lane, DecodesManyStepsAtOnceAndOnAnotherToken) {
  generate(session_, {3}, 1);
  ASSERT_EQ(lane_decode(session_, 7), LANE_DONE);
  EXPECT_EQ(token_of(session_), chain(3, 8).back());
  ASSERT_EQ(lane_set_token(session_, 6), LANE_DONE);
  ASSERT_EQ(lane_decode(session_, 1), LANE_DONE);
  EXPECT_EQ(token_of(session_), next_of(6));
  EXPECT_EQ(position_of(session_), 9);
  EXPECT_EQ(lane_decode(session_, 0), LANE_DONE);
}

TEST_F(Lane, SessionsLiveBesideOneAnother) {
  std::vector<lane_session*> sessions(5);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    ASSERT_EQ(lane_session_open(engine_, &sessions[i]), LANE_DONE);
    const Tokens prompt(i + 1, static_cast<std::int32_t>(i));
    ASSERT_EQ(lane_prefill(sessions[i], prompt.data(), prompt.size()), LANE_DONE);
  }
  for (std::size_t step = 1; step < 6; ++step) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      EXPECT_EQ(token_of(sessions[i]), chain(static_cast<std::int32_t>(i), step).back());
      ASSERT_EQ(lane_decode(sessions[i], 1), LANE_DONE);
    }
  }
  for (lane_session* session : sessions) lane_session_close(session);
}

TEST_F(Lane, ThreadsMayCallAtOnce) {
  std::vector<std::thread> threads;
  for (std::int32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      lane_session* session = nullptr;
      ASSERT_EQ(lane_session_open(engine_, &session), LANE_DONE);
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(generate(session, {7, 7, 7, 7, 7, t}, 8), chain(t, 8));
        EXPECT_EQ(lane_reset(session), LANE_DONE);
      }
      EXPECT_EQ(lane_set_token(session, -1 - t), LANE_USAGE);
      EXPECT_NE(std::string(lane_error_text()).find("found " + std::to_string(-1 - t)), std::string::npos);
      lane_session_close(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Lane, ASessionOutlivesItsEnginesClosing) {
  lane_close(engine_);
  engine_ = nullptr;
  EXPECT_EQ(generate(session_, {4}, 3), chain(4, 3));
}

TEST_F(Lane, RunsACheckpointInSeveralFiles) {
  constexpr std::int32_t kCut = 3;
  const std::string first = write("tiny-00001-of-00002.gguf", tiny_part(0, 0, kCut));
  write("tiny-00002-of-00002.gguf", tiny_part(1, kCut, kVocab));
  Plan plan = this->plan();
  plan.identity = GgufFile::open(first).identity();
  const auto head = [&](std::size_t part) { return static_cast<std::int64_t>(plan.identity.head_bytes[part]); };
  plan.matrices[0].runs = {{0, head(0), kCut * kRowBytes, kCut},
                           {1, head(1), (kVocab - kCut) * kRowBytes, kVocab - kCut}};
  const std::string path = write_words("split.plan", PlanWords(plan).words());
  lane_engine* engine = nullptr;
  lane_session* session = nullptr;
  ASSERT_EQ(lane_open(first.c_str(), path.c_str(), 0, &engine), LANE_DONE) << lane_error_text();
  ASSERT_EQ(lane_session_open(engine, &session), LANE_DONE);
  EXPECT_EQ(generate(session, {0, 1, 2, 3, 4}, kVocab), chain(4, kVocab));
  lane_session_close(session);
  lane_close(engine);
}

TEST_F(Lane, TellsWhatItWasPlannedFor) {
  lane_plan_facts facts;
  ASSERT_EQ(lane_plan(engine_, &facts), LANE_DONE);
  EXPECT_EQ(facts.context, kContext);
  EXPECT_EQ(facts.vocab, kVocab);
  EXPECT_EQ(facts.most_rows, kChunk);
  EXPECT_EQ(facts.shared_bytes, kPoolBytes + TinyForm::arena_bytes(kChunk));
  EXPECT_EQ(facts.session_bytes, kStateBytes);
  EXPECT_EQ(facts.threads, 2);
}

TEST_F(Lane, RefusesByCodeAndText) {
  const Tokens good = {1, 2}, bad = {1, 8}, negative = {-1}, many(kContext + 1, 1);
  float logits[kVocab];
  lane_engine* engine = nullptr;
  lane_plan_facts facts;
  const auto open = [&](const std::string& checkpoint, const std::string& plan, int threads = 1) {
    return lane_open(checkpoint.c_str(), plan.c_str(), threads, &engine);
  };
  const struct {
    std::function<lane_status()> call;
    lane_status status;
    const char* said;
  } cases[] = {
      {[&] { return lane_prefill(session_, good.data(), 0); }, LANE_USAGE, "found 0 tokens, allowed 1 up"},
      {[&] { return lane_prefill(session_, nullptr, 1); }, LANE_USAGE, "tokens: found NULL"},
      {[&] { return lane_prefill(nullptr, good.data(), 1); }, LANE_USAGE, "session: found NULL"},
      {[&] { return lane_prefill(session_, bad.data(), 2); }, LANE_USAGE, "token 1: found 8, allowed 0 to 7"},
      {[&] { return lane_prefill(session_, negative.data(), 1); }, LANE_USAGE, "token 0: found -1"},
      {[&] { return lane_prefill(session_, many.data(), many.size()); }, LANE_CAPACITY, "41 tokens, allowed 40"},
      {[&] { return lane_decode(session_, kContext + 1); }, LANE_CAPACITY, "found 41 tokens, allowed 40"},
      {[&] { return lane_decode(session_, -1); }, LANE_USAGE, "found -1 steps"},
      {[&] { return lane_set_token(session_, 8); }, LANE_USAGE, "found 8, allowed 0 to 7"},
      {[&] { return lane_logits(session_, logits, kVocab - 1); }, LANE_USAGE, "room for 7, allowed 8"},
      {[&] { return lane_logits(session_, nullptr, kVocab); }, LANE_USAGE, "logits: found NULL"},
      {[&] { return lane_token(session_, nullptr); }, LANE_USAGE, "token: found NULL"},
      {[&] { return lane_position(session_, nullptr); }, LANE_USAGE, "position: found NULL"},
      {[&] { return lane_reset(nullptr); }, LANE_USAGE, "session: found NULL"},
      {[&] { return lane_plan(nullptr, &facts); }, LANE_USAGE, "engine: found NULL"},
      {[&] { return lane_session_open(engine_, nullptr); }, LANE_USAGE, "session: found NULL"},
      {[&] { return lane_open(nullptr, plan_.c_str(), 1, &engine); }, LANE_USAGE, "checkpoint: found NULL"},
      {[&] { return open(checkpoint_, plan_, 4); }, LANE_USAGE, "threads: found 4, allowed 1 to 3"},
      {[&] { return open(checkpoint_, plan_, -1); }, LANE_USAGE, "threads: found -1"},
      {[&] { return open(folder_ + "/none", plan_); }, LANE_USAGE, "cannot be opened"},
      {[&] { return open(checkpoint_, folder_ + "/none"); }, LANE_USAGE, "no file to read"},
      {[&] { return open(checkpoint_, folder_); }, LANE_USAGE, "no file to read"},
      {[&] { return open(checkpoint_, checkpoint_); }, LANE_CHECKPOINT, "plan: "},
      {[&] { return open(plan_, plan_); }, LANE_CHECKPOINT, "those of the checkpoint that was compiled"},
  };
  for (const auto& refused : cases) {
    EXPECT_EQ(refused.call(), refused.status) << refused.said;
    EXPECT_NE(std::string(lane_error_text()).find(refused.said), std::string::npos) << lane_error_text();
  }
  EXPECT_EQ(engine, nullptr);
  EXPECT_EQ(position_of(session_), 0);
  EXPECT_EQ(generate(session_, {4}, 3), chain(4, 3));
}

TEST_F(Lane, TheContextCanBeFilledAndNotPassed) {
  const Tokens prompt(kContext - 1, 2);
  ASSERT_EQ(lane_prefill(session_, prompt.data(), prompt.size()), LANE_DONE);
  ASSERT_EQ(lane_decode(session_, 1), LANE_DONE);
  EXPECT_EQ(lane_decode(session_, 1), LANE_CAPACITY);
  EXPECT_EQ(position_of(session_), kContext);
  EXPECT_EQ(token_of(session_), chain(2, 2).back());
}

TEST_F(Lane, ACheckpointThatIsCutShortIsAnErrorOfItsName) {
  ASSERT_EQ(::truncate(checkpoint_.c_str(), 0), 0);
  const Tokens prompt = {1, 2};
  EXPECT_EQ(lane_prefill(session_, prompt.data(), prompt.size()), LANE_CHECKPOINT);
  EXPECT_NE(std::string(lane_error_text()).find("were lost while it was in use"), std::string::npos);
}

}  // namespace
}  // namespace lane::embed
