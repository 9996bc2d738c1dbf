#include "cpp/planner/check_places.h"

#include <algorithm>
#include <map>
#include <optional>

#include "cpp/planner/concat.h"

namespace lane {
namespace {

std::string extent_text(int64_t begin, int64_t end) { return concat("bytes [", begin, ", ", end, ")"); }

bool lies_in(const std::string& name, int64_t offset, int64_t bytes, const char* where, int64_t where_bytes,
             int64_t alignment, std::vector<Finding>& findings) {
  if (bytes < 0 || offset < 0 || offset > where_bytes - bytes) {
    findings.push_back({Fault::kPlacement, concat("'", name, "' has ", bytes, " bytes from ", offset, " on of ", where,
                                                  ", which has ", where_bytes)});
    return false;
  }
  if (offset % alignment == 0) return true;
  findings.push_back({Fault::kPlacement, concat("'", name, "' begins at byte ", offset, " of ", where,
                                                ", allowed a multiple of ", alignment)});
  return false;
}

// Who had each byte of the arena last, while arrays take their bytes in the order of their first accesses. Every byte's
// owners form a chain, each checked against the one before it: so any two of them are in order.
class Owners {
 public:
  explicit Owners(std::vector<CheckOrder::Extent>& extents) : extents_(extents) {}

  // Gives an array its bytes; calls report(earlier, begin, end) for each owner that does not come before it.
  template <typename Report>
  void take(uint32_t array, int64_t begin, int64_t end, const Report& report) {
    split(begin);
    split(end);
    std::optional<uint32_t> reported;
    auto it = owned_.lower_bound(begin);
    while (it != owned_.end() && it->first < end) {
      const auto [from, owned] = *it;
      it = owned_.erase(it);
      if (extents_[owned.array].before(extents_[array]) || reported == owned.array) continue;
      report(owned.array, from, owned.end);
      reported = owned.array;
    }
    owned_[begin] = {end, array};
  }

 private:
  struct Owned {
    int64_t end;
    uint32_t array;
  };

  // Makes a run that spans `at` two.
  void split(int64_t at) {
    auto it = owned_.lower_bound(at);
    if (it == owned_.begin()) return;
    auto& [from, owned] = *std::prev(it);
    if (owned.end <= at) return;
    owned_[at] = owned;
    owned.end = at;
  }

  std::vector<CheckOrder::Extent>& extents_;
  std::map<int64_t, Owned> owned_;  // by first byte: disjoint runs
};

void check_arena(const Step& step, const CheckOrder& order, const StepPlaces& places, std::vector<Finding>& findings) {
  std::vector<CheckOrder::Extent> extents(step.arrays.size());
  std::vector<uint32_t> first_touched;
  for (const uint32_t launch : order.issued()) {
    for (const StepAccess& access : step.launches[launch].accesses) {
      if (access.array >= extents.size() || step.arrays[access.array].space != Space::kArena) continue;
      if (!extents[access.array].any) first_touched.push_back(access.array);
      order.add(extents[access.array], launch);
    }
  }
  Owners owners(extents);
  for (const uint32_t array : first_touched) {
    const StepArray& own = step.arrays[array];
    const int64_t offset = array < places.arena_offsets.size() ? places.arena_offsets[array] : -1;
    if (!lies_in(own.name, offset, own.bytes, "the arena", places.arena_bytes, places.alignment_bytes, findings)) {
      continue;
    }
    owners.take(array, offset, offset + own.bytes, [&](uint32_t other, int64_t begin, int64_t end) {
      findings.push_back({Fault::kOverlap, concat("'", step.arrays[other].name, "' and '", own.name, "' share ",
                                                  extent_text(begin, end), " of the arena, and not all launches that ",
                                                  "touch the one come before all that touch the other")});
    });
  }
}

void check_disjoint(std::vector<PoolPart> parts, std::vector<Finding>& findings) {
  std::ranges::sort(parts, {}, &PoolPart::offset);
  const PoolPart* last = nullptr;  // the one that ends last so far
  for (const PoolPart& part : parts) {
    if (last != nullptr && part.offset < last->offset + last->bytes) {
      const int64_t end = std::min(part.offset + part.bytes, last->offset + last->bytes);
      findings.push_back({Fault::kOverlap, concat("'", last->name, "' and '", part.name, "' share ",
                                                  extent_text(part.offset, end), " of the pool")});
    }
    if (last == nullptr || part.offset + part.bytes > last->offset + last->bytes) last = &part;
  }
}

}  // namespace

void check_places(const Step& step, const CheckOrder& order, const StepPlaces& places, std::vector<Finding>& findings) {
  if (places.alignment_bytes < 1) {
    findings.push_back(
        {Fault::kPlacement, concat("alignment: found ", places.alignment_bytes, " bytes, allowed 1 or more")});
    return;
  }
  check_arena(step, order, places, findings);
  std::vector<PoolPart> parts;
  for (const StepArray& array : step.arrays) {
    if (array.space != Space::kPool) continue;
    if (lies_in(array.name, array.pool_offset, array.bytes, "the pool", places.pool_bytes, places.alignment_bytes,
                findings)) {
      parts.push_back({array.name, array.pool_offset, array.bytes});
    }
  }
  check_disjoint(std::move(parts), findings);
}

std::vector<Finding> check_pool(std::vector<PoolPart> parts, int64_t pool_bytes, int64_t alignment_bytes) {
  std::vector<Finding> findings;
  std::erase_if(parts, [&](const PoolPart& part) {
    return !lies_in(part.name, part.offset, part.bytes, "the pool", pool_bytes, alignment_bytes, findings);
  });
  check_disjoint(parts, findings);
  std::ranges::sort(parts, {}, &PoolPart::offset);
  int64_t accounted = 0;
  const auto account = [&](int64_t begin, const std::string& before) {
    if (begin - accounted < alignment_bytes) return;
    findings.push_back({Fault::kAccount, concat(extent_text(accounted, begin), " of the pool, before ", before,
                                                ", belong to no part of it")});
  };
  for (const PoolPart& part : parts) {
    account(part.offset, concat("'", part.name, "'"));
    accounted = std::max(accounted, part.offset + part.bytes);
  }
  account(pool_bytes, "its end");
  return findings;
}

}  // namespace lane
