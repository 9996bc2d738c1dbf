// Writes a plan as the words of a plan file, whatever it says, for tests of the reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "cpp/embed/plan_file.h"
#include "cpp/runtime/sha256.h"
#include "lane_spec.h"

namespace lane::embed {

inline constexpr std::size_t kDigestAt = 3, kHeadWords = 7;

// Makes the words' digest that of the words.
inline void seal(std::vector<std::int64_t>& words) {
  Sha256 rest;
  rest.update(std::as_bytes(std::span(words).subspan(kHeadWords)));
  const Sha256Digest digest = rest.finish();
  std::memcpy(&words[kDigestAt], digest.data(), digest.size());
}

class PlanWords {
 public:
  explicit PlanWords(const Plan& plan) {
    add_text("LANEPLAN");
    add({1, 0, 0, 0, 0, 0});
    add_text(spec::kHash);
    add({plan.numerics, plan.context, plan.io.vocab, plan.threads});
    add_identity(plan.identity);
    add_matrices(plan.matrices);
    add_pool(plan);
    add_state(plan);
    add_forms(plan.forms);
    for (const PlanConstant& constant : plan.constants) add_bytes(constant.bytes);
    words_[2] = std::ssize(words_);
    seal(words_);
  }

  const std::vector<std::int64_t>& words() const { return words_; }

 private:
  void add(std::span<const std::int64_t> words) { words_.insert(words_.end(), words.begin(), words.end()); }
  void add(std::initializer_list<std::int64_t> words) { words_.insert(words_.end(), words); }
  void add_bytes(std::span<const std::byte> bytes) {
    const std::size_t at = words_.size();
    words_.resize(at + (bytes.size() + 7) / 8);
    if (!bytes.empty()) std::memcpy(&words_[at], bytes.data(), bytes.size());
  }
  void add_text(std::string_view text) { add_bytes(std::as_bytes(std::span(text))); }

  void add_identity(const GgufIdentity& identity) {
    add({std::ssize(identity.part_bytes)});
    for (std::size_t i = 0; i < identity.part_bytes.size(); ++i) {
      add({static_cast<std::int64_t>(identity.part_bytes[i]), static_cast<std::int64_t>(identity.head_bytes[i])});
    }
    add_bytes(std::as_bytes(std::span(identity.head_sha256)));
  }

  void add_matrices(const std::vector<PlanMatrix>& matrices) {
    add({std::ssize(matrices)});
    for (const PlanMatrix& matrix : matrices) {
      add({matrix.type_id, matrix.rows, matrix.cols, std::ssize(matrix.runs)});
      for (const PlanRun& run : matrix.runs) add({run.part, run.offset, run.bytes, run.rows});
    }
  }

  void add_pool(const Plan& plan) {
    add({plan.pool_bytes, std::ssize(plan.constants)});
    for (const PlanConstant& constant : plan.constants) add({constant.offset, std::ssize(constant.bytes)});
  }

  void add_state(const Plan& plan) {
    add({plan.state_bytes, std::ssize(plan.io.carried)});
    for (const cpu::StateRange& range : plan.io.carried) add({range.offset, range.bytes});
    add({plan.io.token, plan.io.tokens, plan.io.pos, plan.io.logits});
  }

  void add_forms(const std::vector<PlanForm>& forms) {
    add({std::ssize(forms)});
    for (const PlanForm& form : forms) {
      add({form.rows, form.all ? 1 : 0, form.sequences, form.arena_bytes, std::ssize(form.table),
           std::ssize(form.records)});
    }
    for (const PlanForm& form : forms) {
      add(form.table);
      add(form.records);
    }
  }

  std::vector<std::int64_t> words_;
};

}  // namespace lane::embed
