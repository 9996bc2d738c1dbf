#include "cpp/embed/plan_file.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <tuple>

#include "cpp/runtime/error.h"
#include "cpp/runtime/sha256.h"
#include "cpp/runtime/utf8.h"
#include "lane_spec.h"

namespace lane::embed {
namespace {

static_assert(std::endian::native == std::endian::little, "a plan's words are read as they lie");

constexpr std::string_view kMagic = "LANEPLAN";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kWordBytes = 8;
constexpr std::int64_t kDigestWords = sizeof(Sha256Digest) / kWordBytes;
constexpr std::int64_t kSpecHashWords = (sizeof(spec::kHash) - 1) / kWordBytes;
static_assert(sizeof(spec::kHash) - 1 == kSpecHashWords * kWordBytes);

// Words of the smallest entry of each list: a count that the file cannot hold is refused before anything is allocated.
constexpr std::int64_t kPartWords = 2, kMatrixWords = 4, kRunWords = 4, kRangeWords = 2, kFormWords = 6;

using Words = std::span<const std::int64_t>;

class PlanReader {
 public:
  PlanReader(Words words, const std::string& path) : words_(words), path_(path) {}

  Plan read();

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& allowed,
                           ErrorKind kind = ErrorKind::kCheckpoint) const {
    throw Error(kind, "plan: " + path_in_quotes(path_) + ": " + what + ": found " + found + ", allowed " + allowed);
  }
  std::int64_t remaining() const { return std::ssize(words_) - at_; }
  Words take_words(std::int64_t count, const std::string& what);
  std::int64_t take(const std::string& what, std::int64_t low, std::int64_t high);
  std::int64_t take_count(std::int64_t entry_words, const std::string& what) {
    return take(what, 0, remaining() / entry_words);
  }
  std::int64_t take_bytes(const std::string& what) { return take(what, 0, INT64_MAX); }
  std::int64_t take_place(const std::string& what, std::int64_t bytes, std::int64_t room);
  Sha256Digest take_digest(const std::string& what);
  std::span<const std::byte> take_data(std::int64_t bytes, const std::string& what);

  void read_head();
  void read_spec_hash();
  void read_identity();
  void read_matrices();
  PlanRun read_run(const std::string& what);
  void read_pool();
  void read_state();
  void read_forms();
  PlanForm read_form(const std::string& what, std::int64_t& table_words, std::int64_t& record_words);
  void check_forms() const;

  const Words words_;
  const std::string& path_;
  std::int64_t at_ = 0;
  Plan plan_{};
  std::vector<std::int64_t> constant_bytes_;
};

Words PlanReader::take_words(std::int64_t count, const std::string& what) {
  if (count > remaining()) {
    refuse(what, std::to_string(count) + " words at word " + std::to_string(at_),
           std::to_string(remaining()) + ", where the file ends");
  }
  const Words taken = words_.subspan(static_cast<std::size_t>(at_), static_cast<std::size_t>(count));
  at_ += count;
  return taken;
}

std::int64_t PlanReader::take(const std::string& what, std::int64_t low, std::int64_t high) {
  const std::int64_t value = take_words(1, what)[0];
  if (value < low || value > high) {
    refuse(what, std::to_string(value), std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

// The offset of so many bytes in an allocation of `room`, on a word's bound of four bytes.
std::int64_t PlanReader::take_place(const std::string& what, std::int64_t bytes, std::int64_t room) {
  const std::int64_t offset = take_bytes(what);
  if (offset % 4 != 0 || offset > room || bytes > room - offset) {
    refuse(what, std::to_string(bytes) + " bytes at " + std::to_string(offset),
           "a multiple of 4 within " + std::to_string(room) + " bytes");
  }
  return offset;
}

Sha256Digest PlanReader::take_digest(const std::string& what) {
  Sha256Digest digest;
  std::memcpy(digest.data(), take_words(kDigestWords, what).data(), digest.size());
  return digest;
}

std::span<const std::byte> PlanReader::take_data(std::int64_t bytes, const std::string& what) {
  const Words words = take_words(bytes / kWordBytes + (bytes % kWordBytes != 0 ? 1 : 0), what);
  return std::as_bytes(words).first(static_cast<std::size_t>(bytes));
}

Plan PlanReader::read() {
  read_head();
  read_spec_hash();
  plan_.numerics = take("numerics", 0, std::ssize(spec::kNumericsNames) - 1);
  plan_.context = take("context", 1, INT32_MAX);
  plan_.io.vocab = take("vocabulary", 1, INT32_MAX);
  plan_.threads = take("threads", 1, INT32_MAX);
  read_identity();
  read_matrices();
  read_pool();
  read_state();
  read_forms();
  for (std::size_t i = 0; i < plan_.constants.size(); ++i) {
    plan_.constants[i].bytes = take_data(constant_bytes_[i], "constant " + std::to_string(i));
  }
  if (remaining() != 0) refuse("end", std::to_string(remaining()) + " words more", "none");
  return std::move(plan_);
}

void PlanReader::read_head() {
  const Words magic = take_words(1, "magic");
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    refuse("magic", in_quotes({reinterpret_cast<const char*>(magic.data()), kMagic.size()}), in_quotes(kMagic));
  }
  const std::int64_t version = take_words(1, "version")[0];
  if (version != kVersion) {
    refuse("version", std::to_string(version), std::to_string(kVersion), ErrorKind::kUnsupported);
  }
  const std::int64_t words = take_words(1, "words")[0];
  if (words != std::ssize(words_)) {
    refuse("words", std::to_string(words_.size()), std::to_string(words) + ", as it says of itself");
  }
  const Sha256Digest said = take_digest("SHA-256");
  Sha256 rest;
  rest.update(std::as_bytes(words_.subspan(static_cast<std::size_t>(at_))));
  const Sha256Digest found = rest.finish();
  if (found != said) refuse("SHA-256", to_hex(found), to_hex(said) + ", as it says of itself");
}

void PlanReader::read_spec_hash() {
  const Words words = take_words(kSpecHashWords, "launch records");
  if (std::memcmp(words.data(), spec::kHash, sizeof(spec::kHash) - 1) == 0) return;
  refuse("launch records", in_quotes({reinterpret_cast<const char*>(words.data()), sizeof(spec::kHash) - 1}),
         in_quotes(spec::kHash) + ", this library's: write the plan with the lane that it belongs to",
         ErrorKind::kUnsupported);
}

void PlanReader::read_identity() {
  const std::int64_t parts = take_count(kPartWords, "parts");
  if (parts == 0) refuse("parts", "0", "1 up");
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::string what = "part " + std::to_string(i);
    const std::int64_t file_bytes = take_bytes(what + ": bytes");
    plan_.identity.part_bytes.push_back(static_cast<std::uint64_t>(file_bytes));
    plan_.identity.head_bytes.push_back(static_cast<std::uint64_t>(take(what + ": head bytes", 0, file_bytes)));
  }
  plan_.identity.head_sha256 = take_digest("SHA-256 of the heads");
}

void PlanReader::read_matrices() {
  const std::int64_t count = take_count(kMatrixWords, "matrices");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string what = "matrix " + std::to_string(i);
    PlanMatrix matrix{};
    matrix.type_id = take(what + ": type", 0, INT32_MAX);
    matrix.rows = take(what + ": rows", 1, INT64_MAX);
    matrix.cols = take(what + ": columns", 1, INT64_MAX);
    const std::int64_t runs = take_count(kRunWords, what + ": runs");
    for (std::int64_t r = 0; r < runs; ++r) matrix.runs.push_back(read_run(what + ", run " + std::to_string(r)));
    plan_.matrices.push_back(std::move(matrix));
  }
}

PlanRun PlanReader::read_run(const std::string& what) {
  PlanRun run{};
  run.part = take(what + ": part", 0, std::ssize(plan_.identity.part_bytes) - 1);
  const auto part = static_cast<std::size_t>(run.part);
  const auto file_bytes = static_cast<std::int64_t>(plan_.identity.part_bytes[part]);
  run.offset = take(what + ": offset", static_cast<std::int64_t>(plan_.identity.head_bytes[part]), file_bytes);
  run.bytes = take(what + ": bytes", 0, file_bytes - run.offset);
  run.rows = take(what + ": rows", 1, INT64_MAX);
  return run;
}

void PlanReader::read_pool() {
  plan_.pool_bytes = take_bytes("pool bytes");
  const std::int64_t count = take_count(kRangeWords, "constants");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string what = "constant " + std::to_string(i);
    const std::int64_t offset = take(what + ": offset", 0, plan_.pool_bytes);
    plan_.constants.push_back({offset, {}});
    constant_bytes_.push_back(take(what + ": bytes", 0, plan_.pool_bytes - offset));
  }
}

void PlanReader::read_state() {
  plan_.state_bytes = take_bytes("state bytes");
  const std::int64_t count = take_count(kRangeWords, "carried ranges");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string what = "carried range " + std::to_string(i);
    const std::int64_t offset = take(what + ": offset", 0, plan_.state_bytes);
    plan_.io.carried.push_back({offset, take(what + ": bytes", 0, plan_.state_bytes - offset)});
  }
  constexpr std::int64_t kElemBytes = 4;
  plan_.io.token = take_place("token", kElemBytes, plan_.state_bytes);
  plan_.io.tokens = take_place("tokens", 0, plan_.state_bytes);  // as many as a form has rows: checked with those
  plan_.io.pos = take_place("position", kElemBytes, plan_.state_bytes);
  plan_.io.logits = take_place("logits", plan_.io.vocab * kElemBytes, plan_.state_bytes);
}

void PlanReader::read_forms() {
  const std::int64_t count = take_count(kFormWords, "forms");
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    auto& [table_words, record_words] = sizes[static_cast<std::size_t>(i)];
    plan_.forms.push_back(read_form("form " + std::to_string(i), table_words, record_words));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& [table_words, record_words] = sizes[static_cast<std::size_t>(i)];
    PlanForm& form = plan_.forms[static_cast<std::size_t>(i)];
    form.table = take_words(table_words, "form " + std::to_string(i) + ": table");
    form.records = take_words(record_words, "form " + std::to_string(i) + ": records");
  }
  check_forms();
}

PlanForm PlanReader::read_form(const std::string& what, std::int64_t& table_words, std::int64_t& record_words) {
  PlanForm form{};
  // A chunk's tokens lie end to end in the state.
  form.rows = take(what + ": rows", 1, std::max<std::int64_t>(1, (plan_.state_bytes - plan_.io.tokens) / 4));
  form.all = take(what + ": head", 0, 1) == 1;
  form.sequences = take(what + ": sequences", 1, INT32_MAX);
  form.arena_bytes = take_bytes(what + ": arena bytes");
  table_words = take_count(1, what + ": table words");
  record_words = take_count(1, what + ": record words");
  if (form.rows > 1 && form.sequences > 1) refuse(what, "rows of several sequences", "either alone");
  return form;
}

void PlanReader::check_forms() const {
  std::set<std::tuple<std::int64_t, bool, std::int64_t>> known;
  for (const PlanForm& form : plan_.forms) {
    if (known.emplace(form.rows, form.all, form.sequences).second) continue;
    refuse("forms", "one of " + std::to_string(form.rows) + " rows twice", "each once");
  }
  if (!known.contains({1, false, 1})) refuse("forms", "none over one row", "the decode step's");
}

}  // namespace

std::vector<std::int64_t> read_plan_words(const std::string& path) {
  std::error_code failed;
  const bool regular = std::filesystem::is_regular_file(path, failed);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t bytes = regular && file ? static_cast<std::int64_t>(file.tellg()) : -1;
  if (bytes < 0) {
    throw Error(ErrorKind::kUsage, "plan: " + path_in_quotes(path) + ": found no file to read, allowed a plan file");
  }
  if (bytes % kWordBytes != 0) {
    throw Error(ErrorKind::kCheckpoint, "plan: " + path_in_quotes(path) + ": found " + std::to_string(bytes) +
                                            " bytes, allowed a multiple of " + std::to_string(kWordBytes));
  }
  std::vector<std::int64_t> words(static_cast<std::size_t>(bytes / kWordBytes));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(words.data()), bytes)) {
    throw Error(ErrorKind::kUsage, "plan: " + path_in_quotes(path) + ": found " + std::to_string(file.gcount()) +
                                       " bytes to read, allowed its " + std::to_string(bytes));
  }
  return words;
}

Plan parse_plan(std::span<const std::int64_t> words, const std::string& path) { return PlanReader(words, path).read(); }

}  // namespace lane::embed
