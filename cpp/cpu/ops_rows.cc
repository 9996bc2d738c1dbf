// Launches over rows and single values: norm, rope, binary, scale, unary, swiglu, quant.
#include "cpp/cpu/ops.h"

namespace lane::cpu {
namespace {

class NormOp final : public CutOp {
 public:
  NormOp(const spec::Norm& n, Binder& b) : CutOp(cut_rows(n.rows, n.cols)) {
    const std::int64_t elems = b.product("rows", {n.rows, n.cols});
    x_ = b.read(n.x, "x", elems);
    if (n.w != spec::kNone) w_ = b.read(n.w, "w", n.cols);
    if (n.bias != spec::kNone) bias_ = b.read(n.bias, "bias", n.cols);
    out_ = b.write(n.out, "out", elems);
    args_.cols = n.cols;
    args_.eps = n.eps;
    args_.centre = n.centre;
    args_.precise = b.precise();
  }

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    NormArgs args = args_;
    args.x = worker.at<const float>(x_);
    args.w = worker.at<const float>(w_);
    args.bias = worker.at<const float>(bias_);
    args.y = worker.at<float>(out_);
    worker.kernels.norm(args, first, count);
  }

  NormArgs args_ = {};
  Operand x_, w_, bias_, out_;
};

class RopeOp final : public CutOp {
 public:
  RopeOp(const spec::Rope& r, Binder& b) : CutOp(cut_rows(r.heads / r.per_row, r.per_row * r.hd)) {
    const std::int64_t rows = r.heads / r.per_row, elems = b.product("heads", {r.heads, r.hd});
    if (r.heads % r.per_row != 0) b.refuse("heads", std::to_string(r.heads), "a multiple of per_row");
    b.check("half", r.half, 1, r.hd / 2);
    const std::int64_t table_rows = std::min(b.length(r.cos, "cos"), b.length(r.sin, "sin")) / r.half;
    b.check("rows", rows, 1, table_rows);
    x_ = b.read(r.x, "x", elems);
    cos_ = b.read(r.cos, "cos", table_rows * r.half);
    sin_ = b.read(r.sin, "sin", table_rows * r.half);
    pos_ = b.position(r.pos, "pos", rows, table_rows);
    y_ = b.write(r.y.buffer, "y", elems);
    args_.per_row = r.per_row;
    args_.hd = r.hd;
    args_.half = r.half;
    args_.interleaved = r.layout == spec::RopeLayout::kInterleaved;
    args_.precise = b.precise();
  }

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    const std::int64_t at = *worker.at<const std::int32_t>(pos_) * args_.half;
    RopeArgs args = args_;
    args.x = worker.at<const float>(x_);
    args.cos = worker.at<const float>(cos_) + at;
    args.sin = worker.at<const float>(sin_) + at;
    args.y = worker.at<float>(y_);
    worker.kernels.rope(args, first, count);
  }

  RopeArgs args_ = {};
  Operand x_, cos_, sin_, pos_, y_;
};

// Over whole values, or over rows where b is one row for all.
class BinaryOp final : public CutOp {
 public:
  BinaryOp(const spec::Binary& l, Binder& b)
      : CutOp(l.row ? cut_rows(l.n / l.cols, l.cols) : cut_elems(l.n)), launch_(l) {
    a_ = b.read(l.a, "a", l.n);
    b_ = b.read(l.b, "b", l.row ? l.cols : l.n);
    out_ = b.write(l.out, "out", l.n);
  }

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    const auto apply = launch_.op == spec::BinaryOp::kAdd ? worker.kernels.add : worker.kernels.multiply;
    const auto *a = worker.at<const float>(a_), *b = worker.at<const float>(b_);
    float* out = worker.at<float>(out_);
    if (!launch_.row) return apply(a + first, b + first, out + first, count);
    for (std::int64_t at = first * launch_.cols; at < (first + count) * launch_.cols; at += launch_.cols) {
      apply(a + at, b, out + at, launch_.cols);
    }
  }

  spec::Binary launch_;
  Operand a_, b_, out_;
};

class ScaleOp final : public CutOp {
 public:
  ScaleOp(const spec::Scale& l, Binder& b)
      : CutOp(cut_elems(l.n)), c_(l.c), x_(b.read(l.x, "x", l.n)), y_(b.write(l.y, "y", l.n)) {}

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    worker.kernels.scale(worker.at<const float>(x_) + first, c_, worker.at<float>(y_) + first, count);
  }

  double c_;
  Operand x_, y_;
};

class UnaryOp final : public CutOp {
 public:
  UnaryOp(const spec::Unary& l, Binder& b)
      : CutOp(cut_elems(l.n)),
        op_(l.op),
        c_(l.c),
        precise_(b.precise()),
        x_(b.read(l.x, "x", l.n)),
        y_(b.write(l.y, "y", l.n)) {}

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    worker.kernels.activate(op_, worker.at<const float>(x_) + first, c_, precise_, worker.at<float>(y_) + first, count);
  }

  spec::UnaryOp op_;
  double c_;
  bool precise_;
  Operand x_, y_;
};

class SwiGluOp final : public CutOp {
 public:
  SwiGluOp(const spec::SwiGlu& l, Binder& b)
      : CutOp(cut_elems(l.n)),
        precise_(b.precise()),
        gate_(b.read(l.gate, "gate", l.n)),
        up_(b.read(l.up, "up", l.n)),
        y_(b.write(l.y, "y", l.n)) {}

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    worker.kernels.swiglu(worker.at<const float>(gate_) + first, worker.at<const float>(up_) + first, precise_,
                          worker.at<float>(y_) + first, count);
  }

  bool precise_;
  Operand gate_, up_, y_;
};

class QuantOp final : public CutOp {
 public:
  QuantOp(const spec::Quant& l, Binder& b)
      : CutOp(cut_elems(l.n)), x_(b.read(l.x, "x", l.n)), out_(b.write_quant(l.out, "out", l.n)) {}

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    auto* second = worker.at<std::int8_t>(out_.second);
    worker.kernels.quantise(worker.at<const float>(x_) + first, count, worker.at<std::int8_t>(out_.words) + first,
                            second == nullptr ? nullptr : second + first,
                            worker.at<float>(out_.scales) + first / kQuantBlock);
  }

  Operand x_;
  QuantOperand out_;
};

}  // namespace

std::unique_ptr<Op> bind_launch(const spec::Norm& launch, Binder& binder) {
  binder.product("rows", {launch.rows, launch.cols});
  return std::make_unique<NormOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::Rope& launch, Binder& binder) {
  binder.product("heads", {launch.heads, launch.per_row, launch.hd});
  return std::make_unique<RopeOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::Binary& launch, Binder& binder) {
  binder.product("n", {launch.n, launch.cols});
  if (launch.n % launch.cols != 0) binder.refuse("n", std::to_string(launch.n), "a multiple of cols");
  return std::make_unique<BinaryOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::Scale& launch, Binder& binder) {
  return std::make_unique<ScaleOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::Unary& launch, Binder& binder) {
  return std::make_unique<UnaryOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::SwiGlu& launch, Binder& binder) {
  return std::make_unique<SwiGluOp>(launch, binder);
}

std::unique_ptr<Op> bind_launch(const spec::Quant& launch, Binder& binder) {
  return std::make_unique<QuantOp>(launch, binder);
}

}  // namespace lane::cpu
