// Projections: which of the device's three ways a gemv launch takes, and how its work is shared.
//
// Quantised activation: up to kGemvRows rows stream the matrix once for each, threads taking stretches of its rows;
// more rows are packed in tiles, threads taking panels of the matrix. Plain activation (float formats; any format under
// precise): threads taking panels of the matrix, as it lies or decoded to f32, which are multiplied in f32 or f64.
#include <algorithm>

#include "cpp/cpu/ops.h"

namespace lane::cpu {
namespace {

// From this many rows on, unpacking a panel once and using it for all rows is faster than unpacking a chunk per row.
constexpr std::int64_t kGemvRows = spec::kCpuGemvRows;

// Tasks a thread should find, so that a late thread is made up for by the others.
constexpr std::int64_t kTasksPerThread = spec::kCpuTasksPerThread;

// Matrix bytes that a GEMV task should at least read: a microsecond's worth, so that taking tasks costs little.
constexpr std::int64_t kTaskBytes = spec::kCpuTaskBytes;

constexpr std::int64_t kRowStep = spec::kCpuRowStep;  // rows of a task: whole cache lines of y

Cut cut_matrix_rows(const Matrix& w, int threads) {
  const std::int64_t shares = threads * kTasksPerThread;
  const std::int64_t even = (w.rows + shares - 1) / shares, least = kTaskBytes / w.row_bytes;
  const std::int64_t each = std::max<std::int64_t>({even, least, 1});
  return {w.rows, (each + kRowStep - 1) / kRowStep * kRowStep};
}

struct Projection {
  const Matrix& w;
  std::int64_t m, k, n;
};

QuantRows rows_at(const Worker& worker, const QuantOperand& x, std::int64_t row, std::int64_t k) {
  const auto* second = worker.at<const std::int8_t>(x.second);
  return {worker.at<const std::int8_t>(x.words) + row * k, second == nullptr ? nullptr : second + row * k,
          worker.at<const float>(x.scales) + row * (k / kQuantBlock)};
}

class GemvOp final : public CutOp {
 public:
  GemvOp(const Projection& p, QuantOperand x, Operand y, Binder& b)
      : CutOp(cut_matrix_rows(p.w, b.threads())), p_(p), x_(x), y_(y), row_bytes_(p.w.format->row_bytes(p.k)) {
    b.thread_scratch(p.m * row_bytes_);
  }

 private:
  void run_part(Worker& worker, std::int64_t first, std::int64_t count) const noexcept override {
    const FormatKernels& format = *p_.w.format;
    if (worker.prepared != this) {
      for (std::int64_t r = 0; r < p_.m; ++r) {
        format.prepare_row(rows_at(worker, x_, r, p_.k), p_.k, worker.scratch + r * row_bytes_);
      }
      worker.prepared = this;
    }
    float* y = worker.at<float>(y_);
    for (std::int64_t at = first; at < first + count;) {
      std::int64_t adjacent = 0;
      const std::uint8_t* w = p_.w.row(at, &adjacent);
      const std::int64_t rows = std::min(adjacent, first + count - at);
      for (std::int64_t r = 0; r < p_.m; ++r) {
        format.gemv(w, rows, p_.k, rows_at(worker, x_, r, p_.k), worker.scratch + r * row_bytes_, y + r * p_.n + at);
      }
      at += rows;
    }
  }

  Projection p_;
  QuantOperand x_;
  Operand y_;
  std::int64_t row_bytes_;
};

// Panels of the matrix by stretches of rows, as many of the latter as give every thread its tasks.
struct PanelCut {
  Cut panels, rows;

  PanelCut(Cut panels, std::int64_t m, std::int64_t row_step, int threads) : panels(panels), rows{m, m} {
    const std::int64_t wanted = (threads * kTasksPerThread + panels.tasks() - 1) / panels.tasks();
    const std::int64_t steps = (m + row_step - 1) / row_step;
    rows.each = (steps + wanted - 1) / wanted * row_step;
  }

  std::int64_t tasks() const { return panels.tasks() * rows.tasks(); }
};

// Phase 0 packs the activation in tiles, phase 1 multiplies panels by them.
class GemmOp final : public Op {
 public:
  GemmOp(const Projection& p, QuantOperand x, Operand y, Binder& b)
      : p_(p),
        x_(x),
        y_(y),
        tiles_{p.m, x.second.exists() ? kTileStreams / 2 : kTileStreams},
        cut_({p.n, kPanelCols}, p.m, tiles_.each, b.threads()),
        tile_bytes_(p.w.format->tile_bytes(p.k)) {
    tiles_memory_ = b.scratch(tiles_.tasks() * tile_bytes_);
    b.thread_scratch(std::max(p.w.format->row_bytes(p.k), p.w.format->panel_bytes(p.k)));
  }

  int phases() const override { return 2; }
  bool solo(int phase) const override { return (phase == 0 ? tiles_.tasks() : cut_.tasks()) == 1; }
  std::int64_t tasks(const Bases&, int phase) const override { return phase == 0 ? tiles_.tasks() : cut_.tasks(); }

  void run(Worker& worker, int phase, std::int64_t task) const noexcept override {
    if (phase == 0) {
      p_.w.format->prepare_tile(rows_at(worker, x_, tiles_.first(task), p_.k), tiles_.count(task), p_.k,
                                tile(worker, task), worker.scratch);
    } else {
      multiply(worker, task % cut_.panels.tasks(), task / cut_.panels.tasks());
    }
  }

 private:
  std::byte* tile(const Worker& worker, std::int64_t i) const {
    return worker.at<std::byte>(tiles_memory_) + i * tile_bytes_;
  }

  void multiply(Worker& worker, std::int64_t panel, std::int64_t stretch) const noexcept {
    const FormatKernels& format = *p_.w.format;
    const std::int64_t column = cut_.panels.first(panel), columns = cut_.panels.count(panel);
    const std::uint8_t* rows[kPanelCols] = {};
    for (std::int64_t c = 0; c < columns; ++c) rows[c] = p_.w.row(column + c);
    format.unpack(rows, p_.k, worker.scratch);
    const std::int64_t first = cut_.rows.first(stretch), end = first + cut_.rows.count(stretch);
    for (std::int64_t r = first; r < end; r += tiles_.each) {
      const std::int64_t i = r / tiles_.each;
      format.multiply(worker.scratch, tile(worker, i), tiles_.count(i), p_.k, x_.second.exists(),
                      worker.at<float>(y_) + r * p_.n + column, p_.n, columns);
    }
  }

  Projection p_;
  QuantOperand x_;
  Operand y_, tiles_memory_;
  Cut tiles_;
  PanelCut cut_;
  std::int64_t tile_bytes_;
};

// Matrix rows of a float task: many, so that what they are multiplied by is read from far away seldom.
constexpr std::int64_t kFloatPanelCols = spec::kCpuFloatPanelCols;

// Matrix rows of a task whose format is decoded first: few, as its thread holds them all in f32.
constexpr std::int64_t kDecodedPanelCols = spec::kCpuDecodedPanelCols;

std::int64_t float_panel_cols(const Matrix& w, int threads) {
  if (w.format->is_block) return kDecodedPanelCols;
  const std::int64_t shares = threads * kTasksPerThread, steps = (w.rows / shares + kRowStep - 1) / kRowStep;
  return std::clamp(steps * kRowStep, kRowStep, kFloatPanelCols);
}

class FloatOp final : public Op {
 public:
  FloatOp(const Projection& p, Operand x, Operand y, Binder& b)
      : p_(p),
        x_(x),
        y_(y),
        precise_(b.precise()),
        cut_({p.n, float_panel_cols(p.w, b.threads())}, p.m, kRowTile, b.threads()) {
    if (p.w.format->is_block) b.thread_scratch(kDecodedPanelCols * decoded_bytes());
  }

  bool solo(int) const override { return cut_.tasks() == 1; }
  std::int64_t tasks(const Bases&, int) const override { return cut_.tasks(); }

  // The panel is read as kFloatCols streams, each through matrix rows that lie end to end: reading four neighbours at
  // once and then the next four, a processor would find the beginnings of many short streams and fetch ahead in none.
  void run(Worker& worker, int, std::int64_t task) const noexcept override {
    const std::int64_t panel = task % cut_.panels.tasks(), stretch = task / cut_.panels.tasks();
    const std::int64_t column = cut_.panels.first(panel), columns = cut_.panels.count(panel);
    if (p_.w.format->is_block) decode(worker, column, columns);
    const std::int64_t each = (columns + kFloatCols - 1) / kFloatCols;
    const std::int64_t first = cut_.rows.first(stretch), end = first + cut_.rows.count(stretch);
    for (std::int64_t r = first; r < end; r += kRowTile) {
      for (std::int64_t i = 0; i < each; ++i) {
        FloatProduct product = {};
        for (std::int64_t c = i; c < columns; c += each) product.w[product.cols++] = row(worker, column, c);
        product.x = worker.at<const float>(x_) + r * p_.k;
        product.rows = std::min(kRowTile, end - r);
        product.k = p_.k;
        product.y = worker.at<float>(y_) + r * p_.n + column + i;
        product.pitch = p_.n;
        product.step = each;
        product.precise = precise_;
        p_.w.format->multiply_float(product);
      }
    }
  }

 private:
  // Rows that stay in the second cache while a panel's columns, which the first one holds, are multiplied by them: a
  // multiple of the kernel's three.
  static constexpr std::int64_t kRowTile = spec::kCpuRowTile;

  std::int64_t decoded_bytes() const { return p_.k * static_cast<std::int64_t>(sizeof(float)); }

  std::uint8_t* decoded(const Worker& worker, std::int64_t c) const noexcept {
    return reinterpret_cast<std::uint8_t*>(worker.scratch) + c * decoded_bytes();
  }

  void decode(const Worker& worker, std::int64_t column, std::int64_t columns) const noexcept {
    for (std::int64_t c = 0; c < columns; ++c) {
      p_.w.format->decode(p_.w.row(column + c), reinterpret_cast<float*>(decoded(worker, c)), p_.k);
    }
  }

  // Matrix row c of the panel at `column`, as the format's product takes it.
  const std::uint8_t* row(const Worker& worker, std::int64_t column, std::int64_t c) const noexcept {
    return p_.w.format->is_block ? decoded(worker, c) : p_.w.row(column + c);
  }

  Projection p_;
  Operand x_, y_;
  bool precise_;
  PanelCut cut_;
};

}  // namespace

std::unique_ptr<Op> bind_launch(const spec::Gemv& launch, Binder& binder) {
  const std::int64_t read = binder.product("m", {launch.m, launch.k}),
                     written = binder.product("m", {launch.m, launch.n});
  const Projection p = {binder.matrix(launch.w, "w", launch.n, launch.k), launch.m, launch.k, launch.n};
  const bool int8 = p.w.format->is_block && !binder.precise();
  if (launch.read_quant != int8) {
    binder.refuse("x", launch.read_quant ? "quantised" : "plain",
                  std::string(int8 ? "quantised" : "plain") + " for a matrix in " + p.w.format->name + " under " +
                      spec::kNumericsNames[static_cast<std::int64_t>(binder.numerics())]);
  }
  if (!int8) {
    const Operand x = binder.read(launch.x, "x", read);
    return std::make_unique<FloatOp>(p, x, binder.write(launch.y.buffer, "y", written), binder);
  }
  const QuantOperand x = binder.read_quant(launch.x, "x", read);
  const Operand y = binder.write(launch.y.buffer, "y", written);
  if (launch.m <= kGemvRows) return std::make_unique<GemvOp>(p, x, y, binder);
  return std::make_unique<GemmOp>(p, x, y, binder);
}

}  // namespace lane::cpu
