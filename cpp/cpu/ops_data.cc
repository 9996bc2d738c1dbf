// Launches that move values: gather, view, set_row, slice; and the arg-max that closes a step.
#include <cmath>

#include "cpp/cpu/ops.h"

namespace lane::cpu {
namespace {

class GatherOp final : public CutOp {
 public:
  GatherOp(const spec::Gather& g, Binder& b)
      : CutOp(cut_rows(g.rows, g.cols)),
        table_(b.matrix(g.table, "table", -1, g.cols)),
        index_(b.indices(g.index, "index", g.rows, table_.rows)),
        out_(b.write(g.out, "out", b.product("rows", {g.rows, g.cols}))),
        scale_(g.scale) {}

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    const auto* index = worker.at<const std::int32_t>(index_);
    for (std::int64_t r = first; r < first + count; ++r) {
      float* out = worker.at<float>(out_) + r * table_.cols;
      table_.format->decode(table_.row(index[r]), out, table_.cols);
      if (scale_ != 1.0) worker.kernels.scale(out, scale_, out, table_.cols);
    }
  }

  const Matrix& table_;
  Operand index_, out_;
  double scale_;
};

class SetRowOp final : public CutOp {
 public:
  SetRowOp(const spec::SetRow& s, Binder& b)
      : CutOp(cut_rows(s.count, s.cols)), cols_(s.cols), row_(s.row.value_or(0)) {
    b.product("count", {s.count, s.cols});
    const std::int64_t rows = b.length(s.table, "table") / s.cols;
    b.check("count", s.count, 1, rows);
    src_ = b.read(s.src, "src", s.count * s.cols);
    if (s.index != spec::kNone) {
      index_ = b.position(s.index, "index", s.count, rows);
    } else {
      b.check("row", row_, 0, rows - s.count);
    }
    table_ = b.update(s.table, "table", rows * s.cols);
  }

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    const std::int64_t start = (index_.exists() ? *worker.at<const std::int32_t>(index_) : row_) + first;
    std::memcpy(worker.at<float>(table_) + start * cols_, worker.at<const float>(src_) + first * cols_,
                static_cast<std::size_t>(count * cols_) * sizeof(float));
  }

  std::int64_t cols_, row_;
  Operand table_, index_, src_;
};

class SliceOp final : public CutOp {
 public:
  SliceOp(const spec::Slice& s, Binder& b) : CutOp(cut_rows(s.groups, s.width)), slice_(s) {
    const std::int64_t read = b.product("groups", {s.groups, s.every});
    b.check("start", s.start, 0, s.every);
    b.check("width", s.width, 1, s.every - s.start);
    x_ = b.read(s.x, "x", read);
    y_ = b.write(s.y, "y", s.groups * s.width);
  }

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    const float* x = worker.at<const float>(x_) + slice_.start;
    float* y = worker.at<float>(y_);
    for (std::int64_t g = first; g < first + count; ++g) {
      std::memcpy(y + g * slice_.width, x + g * slice_.every, static_cast<std::size_t>(slice_.width) * sizeof(float));
    }
  }

  spec::Slice slice_;
  Operand x_, y_;
};

// Phase 0: the greatest of each stretch. Phase 1: the first stretch that holds the greatest of all, and where.
class ArgMaxOp final : public Op {
 public:
  ArgMaxOp(const spec::ArgMax& a, Binder& b) : cut_{a.n, kTaskElems}, argmax_(a) {
    x_ = b.read(a.x, "x", b.product("rows", {a.rows, a.n}));
    best_ = b.scratch(cut_.tasks() * static_cast<std::int64_t>(sizeof(float)));
    token_ = b.counter(a.token, "token");
    pos_ = b.counter(a.pos, "pos");
  }

  int phases() const override { return 2; }
  bool solo(int phase) const override { return phase == 1 || cut_.tasks() == 1; }
  std::int64_t tasks(const Bases&, int phase) const override { return phase == 0 ? cut_.tasks() : 1; }

  void run(Worker& worker, int phase, std::int64_t task) const noexcept override {
    const float* x = worker.at<const float>(x_) + (argmax_.rows - 1) * argmax_.n;
    float* best = worker.at<float>(best_);
    if (phase == 0) {
      best[task] = worker.kernels.greatest(x + cut_.first(task), cut_.count(task));
      return;
    }
    std::int64_t stretch = 0;
    for (std::int64_t i = 1; i < cut_.tasks(); ++i) {
      if (best[i] > best[stretch]) stretch = i;
    }
    std::int64_t index = 0;
    if (best[stretch] > -HUGE_VALF) {
      index = cut_.first(stretch);
      while (x[index] != best[stretch]) ++index;
    }
    *worker.at<std::int32_t>(token_) = static_cast<std::int32_t>(index);
    *worker.at<std::int32_t>(pos_) += static_cast<std::int32_t>(argmax_.advance);
  }

 private:
  Cut cut_;
  spec::ArgMax argmax_;
  Operand x_, best_, token_, pos_;
};

}  // namespace

std::unique_ptr<Op> bind_launch(const spec::Gather& launch, Binder& binder) {
  binder.product("rows", {launch.rows, launch.cols});
  return std::make_unique<GatherOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::View& launch, Binder& binder) {
  binder.check_view(launch.src, launch.out, launch.offset, launch.n);
  return nullptr;
}

std::unique_ptr<Op> bind_launch(const spec::SetRow& launch, Binder& binder) {
  binder.check("cols", launch.cols, 1, INT32_MAX);
  return std::make_unique<SetRowOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::Slice& launch, Binder& binder) {
  binder.product("groups", {launch.groups, launch.every, launch.width});
  return std::make_unique<SliceOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::ArgMax& launch, Binder& binder) {
  binder.check("n", launch.n, 1, INT32_MAX);
  binder.check("advance", launch.advance, 0, INT32_MAX);
  return std::make_unique<ArgMaxOp>(launch, binder);
}

}  // namespace lane::cpu
