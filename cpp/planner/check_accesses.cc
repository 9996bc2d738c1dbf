#include "cpp/planner/check_accesses.h"

#include <algorithm>

#include "cpp/planner/check_spans.h"
#include "cpp/planner/concat.h"

namespace lane {
namespace {

struct Use {
  uint32_t launch;
  Effect effect;
  const ByteSpan* span;
};

std::string bytes_text(const CheckRun& run) { return concat("bytes [", run.begin, ", ", run.end, ")"); }

const char* verb(Effect effect) {
  switch (effect) {
    case Effect::kRead:
      return "reads";
    case Effect::kWrite:
      return "writes";
    case Effect::kUpdate:
      return "updates";
  }
  return "touches";
}

// One array's accesses, in the order in which the step has them.
class ArrayCheck {
 public:
  ArrayCheck(const StepArray& array, const CheckOrder& order, std::vector<Finding>& findings)
      : array_(array), order_(order), findings_(findings) {}

  void take(const Use& use) {
    if (!in_bounds(use)) return;
    if (use.effect != Effect::kRead && array_.read_only) report(Fault::kReadOnly, use, "which is constant");
    check_hazards(use);
    if (use.effect != Effect::kWrite && !array_.holds_values) check_written(use);
    remember(use);
  }

 private:
  void report(Fault fault, const Use& use, const std::string& what) {
    findings_.push_back(
        {fault, concat(order_.describe(use.launch), " ", verb(use.effect), " ",
                       bytes_text({use.span->begin, use.span->end()}), " of '", array_.name, "', ", what)});
  }

  bool in_bounds(const Use& use) {
    const ByteSpan& s = *use.span;
    const bool formed = s.begin >= 0 && s.width >= 1 && s.count >= 1 && (s.count == 1 || s.pitch >= s.width);
    const int64_t room = array_.bytes - s.begin - s.width;
    if (formed && room >= 0 && (s.count == 1 || (s.count - 1) <= room / s.pitch)) return true;
    const std::string runs = s.count == 1 ? "" : concat(s.count, " runs, ", s.pitch, " bytes apart, of ");
    findings_.push_back(
        {Fault::kBounds, concat(order_.describe(use.launch), " ", verb(use.effect), " ", runs, s.width, " bytes from ",
                                s.begin, " on of '", array_.name, "', which has ", array_.bytes)});
    return false;
  }

  void check_hazards(const Use& use) {
    for (const Use& write : writes_) check_hazard(write, use);
    if (use.effect == Effect::kRead) return;
    for (const Use& read : reads_) check_hazard(read, use);
  }

  void check_hazard(const Use& first, const Use& second) {
    if (first.launch == second.launch || order_.before(first.launch, second.launch)) return;
    CheckRun shared;
    if (!find_shared(*first.span, *second.span, shared)) return;
    const char* how = order_.before(second.launch, first.launch) ? "the plan has it after" : "nothing orders them";
    findings_.push_back(
        {Fault::kHazard, concat(order_.describe(second.launch), " ", verb(second.effect), " ", bytes_text(shared),
                                " of '", array_.name, "', which ", order_.describe(first.launch), " ",
                                verb(first.effect), ": that must come before, and ", how)});
  }

  // Only what is written by launches that come before counts.
  void check_written(const Use& use) {
    std::vector<CheckRun> written;
    for (const Use& write : all_writes_) {
      if (!order_.before(write.launch, use.launch)) continue;
      CheckRun uncovered;
      if (!find_uncovered(*use.span, runs_of(*write.span), uncovered)) return;
      const std::vector<CheckRun> runs = runs_of(*write.span);
      written.insert(written.end(), runs.begin(), runs.end());
    }
    CheckRun unwritten;
    if (!find_uncovered(*use.span, merged(std::move(written)), unwritten)) return;
    report(Fault::kUnwritten, use, concat("of which ", bytes_text(unwritten), " no launch before it writes"));
  }

  // A write of the whole array that comes after all uses so far stands for them: what follows it follows them.
  void remember(const Use& use) {
    if (use.effect == Effect::kRead) {
      reads_.push_back(use);
      return;
    }
    const auto behind = [&](const Use& other) { return order_.before(other.launch, use.launch); };
    const bool whole = use.span->begin == 0 && use.span->count == 1 && use.span->width == array_.bytes;
    if (whole && std::ranges::all_of(reads_, behind) && std::ranges::all_of(writes_, behind)) {
      reads_.clear();
      writes_.clear();
    }
    writes_.push_back(use);
    if (use.effect != Effect::kWrite) return;
    if (whole && std::ranges::all_of(all_writes_, behind)) all_writes_.clear();
    all_writes_.push_back(use);
  }

  const StepArray& array_;
  const CheckOrder& order_;
  std::vector<Finding>& findings_;
  std::vector<Use> reads_, writes_;  // that later uses may have to follow; updates are writes
  std::vector<Use> all_writes_;      // that give bytes their values
};

}  // namespace

void check_accesses(const Step& step, const CheckOrder& order, std::vector<Finding>& findings) {
  std::vector<ArrayCheck> checks;
  checks.reserve(step.arrays.size());
  for (const StepArray& array : step.arrays) checks.emplace_back(array, order, findings);
  for (uint32_t launch = 0; launch < step.launches.size(); ++launch) {
    for (const StepAccess& access : step.launches[launch].accesses) {
      if (access.array < checks.size()) {
        checks[access.array].take({launch, access.effect, &access.span});
      } else {
        findings.push_back({Fault::kBounds, concat(order.describe(launch), " touches array ", access.array,
                                                   ", the step has ", step.arrays.size())});
      }
    }
  }
}

}  // namespace lane
