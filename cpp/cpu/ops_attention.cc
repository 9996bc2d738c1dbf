// Attention launches: how the work of a few rows (decode) and of many (prefill) is shared.
#include <algorithm>
#include <cstring>

#include "cpp/cpu/ops.h"

namespace lane::cpu {
namespace {

// Queries of a task of many rows: enough that a chunk of keys and values is used often while it is in the cache.
constexpr std::int64_t kTaskQueries = spec::kCpuTaskQueries;

// Rows up to which a span's chunks are tasks of their own.
constexpr std::int64_t kSplitRows = spec::kCpuSplitRows;

struct Bound {
  AttentionArgs args = {};
  Operand q, keys, values, pos, sinks, out;

  AttentionArgs at(const Bases& bases) const {
    AttentionArgs a = args;
    a.q = resolve<const float>(bases, q);
    a.keys = resolve<const float>(bases, keys);
    a.values = resolve<const float>(bases, values);
    a.sinks = resolve<const float>(bases, sinks);
    a.out = resolve<float>(bases, out);
    a.start = *resolve<const std::int32_t>(bases, pos);
    return a;
  }
  std::int64_t kv_heads() const { return args.heads / args.group; }
};

// A head's whole span for a stretch of rows. The last tasks, which are claimed first, have the longest spans.
class RowsOp final : public Op {
 public:
  RowsOp(const Bound& bound, Binder& b)
      : bound_(bound),
        rows_{bound.args.rows, std::clamp<std::int64_t>(kTaskQueries / bound.args.group, 1, spec::kCpuTaskRows)} {
    b.thread_scratch(b.kernels().attention_scratch(bound.args, rows_.each));
  }

  bool solo(int) const override { return rows_.tasks() * bound_.kv_heads() == 1; }
  std::int64_t tasks(const Bases&, int) const override { return rows_.tasks() * bound_.kv_heads(); }
  void run(Worker& worker, int, std::int64_t task) const noexcept override {
    const std::int64_t stretch = task / bound_.kv_heads();
    worker.kernels.attention(bound_.at(worker.bases), task % bound_.kv_heads(), rows_.first(stretch),
                             rows_.count(stretch), worker.scratch);
  }

 private:
  Bound bound_;
  Cut rows_;
};

// Phase 0: every chunk of every row's and head's span. Phase 1: a head's chunks merged.
class SplitOp final : public Op {
 public:
  SplitOp(const Bound& bound, Binder& b)
      : bound_(bound), floats_(2 + bound.args.vd), most_chunks_((bound.args.len + kSpanChunk - 1) / kSpanChunk) {
    const std::int64_t parts = b.product("len", {bound.args.rows, bound.args.heads, most_chunks_, floats_, 4});
    parts_ = b.scratch(parts);
    b.thread_scratch(std::max(b.kernels().attention_scratch(bound.args, 1), floats_ * 4));
  }

  int phases() const override { return 2; }
  bool solo(int) const override { return false; }
  std::int64_t tasks(const Bases& bases, int phase) const override {
    const AttentionArgs& a = bound_.args;
    return phase == 0 ? a.rows * bound_.kv_heads() * chunks(bases).count : a.rows * a.heads;
  }

  void run(Worker& worker, int phase, std::int64_t task) const noexcept override {
    const AttentionArgs a = bound_.at(worker.bases);
    const Chunks span = chunks(worker.bases);
    float* parts = worker.at<float>(parts_);
    if (phase == 0) {  // parts lie by row, key/value head, chunk, query
      const std::int64_t head = task / span.count % bound_.kv_heads(), row = task / span.count / bound_.kv_heads();
      worker.kernels.attention_part(a, head, row, span.first + task % span.count, parts + task * a.group * floats_,
                                    worker.scratch);
    } else {
      const std::int64_t row = task / a.heads, head = task % a.heads;
      const std::int64_t at = (row * bound_.kv_heads() + head / a.group) * span.count * a.group + head % a.group;
      worker.kernels.attention_merge(a, head, row, parts + at * floats_, a.group * floats_, span.count,
                                     reinterpret_cast<float*>(worker.scratch));
    }
  }

 private:
  struct Chunks {
    std::int64_t first, count;
  };

  // The chunks that hold the rows' spans.
  Chunks chunks(const Bases& bases) const {
    const AttentionArgs& a = bound_.args;
    const std::int64_t start = *resolve<const std::int32_t>(bases, bound_.pos);
    const std::int64_t low = a.window > 0 ? std::max<std::int64_t>(0, start + 1 - a.window) : 0;
    const std::int64_t first = low / kSpanChunk, end = (start + a.rows + kSpanChunk - 1) / kSpanChunk;
    return {first, end - first};
  }

  Bound bound_;
  std::int64_t floats_, most_chunks_;
  Operand parts_;
};

class PreciseOp final : public Op {
 public:
  PreciseOp(const Bound& bound, Binder& b) : bound_(bound) {
    b.thread_scratch((bound.args.len + bound.args.vd) * static_cast<std::int64_t>(sizeof(double)));
  }

  bool solo(int) const override { return bound_.args.rows * bound_.args.heads == 1; }
  std::int64_t tasks(const Bases&, int) const override { return bound_.args.rows * bound_.args.heads; }
  void run(Worker& worker, int, std::int64_t task) const noexcept override {
    worker.kernels.attention_precise(bound_.at(worker.bases), task % bound_.args.heads, task / bound_.args.heads,
                                     reinterpret_cast<double*>(worker.scratch));
  }

 private:
  Bound bound_;
};

Bound bind_operands(const spec::Attention& l, Binder& b) {
  const std::int64_t kv_heads = l.heads / l.group;
  Bound bound;
  bound.q = b.read(l.q, "q", b.product("q", {l.rows, l.heads, l.hd}));
  bound.keys = b.read(l.kc, "kc", b.product("kc", {l.len, kv_heads, l.hd}));
  bound.values = b.read(l.vc, "vc", b.product("vc", {l.len, kv_heads, l.vd}));
  if (l.sinks != spec::kNone) bound.sinks = b.read(l.sinks, "sinks", l.heads);
  bound.pos = b.position(l.pos, "pos", l.rows, l.len);
  bound.out = b.write(l.out, "out", b.product("out", {l.rows, l.heads, l.vd}));
  bound.args.rows = l.rows;
  bound.args.heads = l.heads;
  bound.args.group = l.group;
  bound.args.hd = l.hd;
  bound.args.vd = l.vd;
  bound.args.len = l.len;
  bound.args.window = l.window;
  bound.args.scale = l.scale;
  bound.args.cap = l.cap;
  return bound;
}

}  // namespace

std::unique_ptr<Op> bind_launch(const spec::Attention& launch, Binder& binder) {
  binder.product("heads", {launch.heads, launch.group, launch.hd, launch.vd});
  if (launch.heads % launch.group != 0) binder.refuse("heads", std::to_string(launch.heads), "a multiple of group");
  binder.check("rows", launch.rows, 1, launch.len);
  binder.check("len", launch.len, 1, INT32_MAX);
  binder.check("window", launch.window, 0, INT32_MAX);
  const Bound bound = bind_operands(launch, binder);
  if (binder.precise()) return std::make_unique<PreciseOp>(bound, binder);
  const bool idle = launch.rows * bound.kv_heads() < 4 * binder.threads();
  // A plan made for fewer threads has no scratch for it: then, to the same bits, some of these stay idle.
  const bool split = binder.threads() > 1 && launch.rows <= kSplitRows && idle && binder.has_scratch();
  if (split) return std::make_unique<SplitOp>(bound, binder);
  return std::make_unique<RowsOp>(bound, binder);
}

}  // namespace lane::cpu
