#include "cpp/planner/arena_text.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "cpp/planner/concat.h"
#include "cpp/runtime/error.h"

namespace lane {
namespace {

constexpr std::string_view kAlignment = "alignment_bytes";
constexpr std::string_view kStreams = "streams";

std::string problem_columns(size_t streams) {
  std::string columns = "array,bytes";
  for (size_t s = 0; s < streams; ++s) columns += concat(",begin_", s, ",end_", s);
  return columns;
}

const std::string& checked_name(const ArenaArray& array) {
  if (array.name.find_first_of(",\r\n") != std::string::npos) {
    throw Error(ErrorKind::kUsage, concat("arena text: array's name: found '", array.name,
                                          "', allowed one without commas and line breaks"));
  }
  return array.name;
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  std::string_view next() {
    const size_t length = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    ++number_;
    return line_;
  }

  [[noreturn]] void refuse(const std::string& allowed) const {
    throw Error(ErrorKind::kUsage, concat("arena text: line ", number_, ": found '", line_, "', allowed ", allowed));
  }

  int64_t number(std::string_view digits) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) refuse("whole numbers");
    return value;
  }

  int64_t setting(std::string_view key) {
    const std::string_view line = next();
    if (!line.starts_with(key) || line.substr(key.size(), 1) != ",") refuse(concat("'", key, ",' and a number"));
    return number(line.substr(key.size() + 1));
  }

 private:
  std::string_view rest_, line_;
  size_t number_ = 0;
};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t from = 0; from <= line.size();) {
    const size_t to = std::min(line.find(',', from), line.size());
    fields.push_back(line.substr(from, to - from));
    from = to + 1;
  }
  return fields;
}

ArenaArray array_of(Lines& lines, size_t streams) {
  const std::vector<std::string_view> fields = split(lines.next());
  if (fields.size() != 2 + 2 * streams) lines.refuse(problem_columns(streams));
  ArenaArray array{.name = std::string(fields[0]), .bytes = lines.number(fields[1]), .life = {}};
  for (size_t s = 0; s < streams; ++s) {
    array.life.begin[s] = lines.number(fields[2 + 2 * s]);
    array.life.end[s] = lines.number(fields[3 + 2 * s]);
  }
  return array;
}

}  // namespace

std::string to_text(const ArenaProblem& problem) {
  std::ostringstream text;
  text << kAlignment << "," << problem.alignment_bytes << "\n"
       << kStreams << "," << problem.streams << "\n"
       << problem_columns(problem.streams) << "\n";
  for (const ArenaArray& array : problem.arrays) {
    text << checked_name(array) << "," << array.bytes;
    for (size_t s = 0; s < problem.streams; ++s) text << "," << array.life.begin[s] << "," << array.life.end[s];
    text << "\n";
  }
  return text.str();
}

std::string to_text(const ArenaProblem& problem, const ArenaAnswer& answer) {
  std::ostringstream text;
  text << "strategy," << answer.strategy << "\ntotal_bytes," << answer.total_bytes << "\nlower_bound_bytes,"
       << answer.lower_bound_bytes << "\narray,offset_bytes\n";
  for (size_t i = 0; i < problem.arrays.size(); ++i) {
    text << checked_name(problem.arrays[i]) << "," << answer.offsets[i] << "\n";
  }
  return text.str();
}

ArenaProblem arena_problem_of(std::string_view text) {
  Lines lines(text);
  ArenaProblem problem;
  problem.alignment_bytes = lines.setting(kAlignment);
  const int64_t streams = lines.setting(kStreams);
  if (streams < 1 || streams > static_cast<int64_t>(kMaxStreams)) {
    lines.refuse(concat("1 to ", kMaxStreams, " streams"));
  }
  problem.streams = static_cast<size_t>(streams);
  if (lines.next() != problem_columns(problem.streams)) lines.refuse(problem_columns(problem.streams));
  while (!lines.at_end()) problem.arrays.push_back(array_of(lines, problem.streams));
  check_problem(problem);
  return problem;
}

}  // namespace lane
