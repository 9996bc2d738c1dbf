#include "cpp/planner/dependences.h"

#include <algorithm>

namespace lane {
namespace {

// Whether a run [begin, end) meets one of a span's runs.
bool meets(int64_t begin, int64_t end, const ByteSpan& span) {
  if (begin >= span.end() || span.begin >= end) return false;
  if (span.count == 1) return true;
  // The first run that ends past `begin` meets it, or none does.
  const int64_t past = begin - span.begin - span.width;
  const int64_t run = past < 0 ? 0 : past / span.pitch + 1;
  return run < span.count && span.begin + run * span.pitch < end;
}

// Whether two spans of one array may have a byte in common; spans of unequal pitch are taken to.
bool may_overlap(const ByteSpan& a, const ByteSpan& b) {
  if (a.count == 1) return meets(a.begin, a.end(), b);
  if (b.count == 1) return meets(b.begin, b.end(), a);
  if (a.begin >= b.end() || b.begin >= a.end()) return false;
  if (a.pitch != b.pitch) return true;
  const int64_t apart = ((b.begin - a.begin) % a.pitch + a.pitch) % a.pitch;
  return apart < a.width || a.pitch - apart < b.width;
}

struct Past {
  uint32_t launch;
  ByteSpan span;
};

// The accesses of one array that later ones may have to follow.
class ArrayPast {
 public:
  // Adds to `follows` what an access must follow, and remembers it.
  void touch(const StepAccess& access, uint32_t launch, int64_t array_bytes, std::vector<uint32_t>& follows) {
    const auto add = [&](const std::vector<Past>& past) {
      for (const Past& earlier : past) {
        if (earlier.launch != launch && may_overlap(earlier.span, access.span)) follows.push_back(earlier.launch);
      }
    };
    add(writes_);
    if (access.effect == Effect::kRead) {
      reads_.push_back({launch, access.span});
      return;
    }
    add(reads_);
    const bool whole = access.span.count == 1 && access.span.begin == 0 && access.span.width == array_bytes;
    if (whole) {  // it follows all before it: what follows it need not name them
      reads_.clear();
      writes_.clear();
    }
    writes_.push_back({launch, access.span});
  }

 private:
  std::vector<Past> reads_, writes_;
};

}  // namespace

std::vector<std::vector<uint32_t>> dependences(const Step& step) {
  std::vector<std::vector<uint32_t>> follows(step.launches.size());
  std::vector<ArrayPast> past(step.arrays.size());
  for (uint32_t launch = 0; launch < step.launches.size(); ++launch) {
    std::vector<uint32_t>& list = follows[launch];
    for (const StepAccess& access : step.launches[launch].accesses) {
      past[access.array].touch(access, launch, step.arrays[access.array].bytes, list);
    }
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  }
  return follows;
}

}  // namespace lane
