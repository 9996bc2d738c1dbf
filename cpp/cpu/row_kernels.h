// Kernels over rows and single values: norm, rotation, elementwise. Plain loops, which the compiler turns into vectors
// of each instruction set; none may be contracted or reordered, so all give the same bits.
#pragma once

#include "cpp/cpu/kernels.h"
#include "cpp/cpu/quants/block.h"
#include "cpp/cpu/simd_math.h"

namespace lane::cpu::LANE_ISA {

// Σ f(x) in f64, value i in lane i mod 8.
template <class Map>
LANE_INLINE double sum_f64(const float* x, int64_t n, Map map) {
  F64 lanes = zero_f64();
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) lanes = map(lanes, to_f64(load(x + i)), kLanes);
  if (whole < n) lanes = map(lanes, to_f64(load_part(x + whole, n - whole)), static_cast<int>(n - whole));
  return fold(lanes);
}

// The squares of the first `count` values' distances from `mean` (the other lanes hold nothing).
LANE_INLINE F64 centred(F64 x, double mean, int count) {
  double means[kLanes] = {};
  for (int i = 0; i < count; ++i) means[i] = mean;
  return x - load_f64(means);
}

inline void norm_row(const NormArgs& a, const float* x, float* y) {
  const auto n = static_cast<double>(a.cols);
  double mean = 0.0;
  if (a.centre) mean = sum_f64(x, a.cols, [](F64 sum, F64 v, int) { return sum + v; }) / n;
  const double squares = sum_f64(x, a.cols, [&](F64 sum, F64 v, int count) {
    const F64 d = a.centre ? centred(v, mean, count) : v;
    return fma(d, d, sum);
  });
  const double factor = 1.0 / __builtin_sqrt(squares / n + a.eps);
  if (a.precise) {
    for (int64_t i = 0; i < a.cols; ++i) {
      double v = (static_cast<double>(x[i]) - mean) * factor;
      if (a.w != nullptr) v *= static_cast<double>(a.w[i]);
      if (a.bias != nullptr) v += static_cast<double>(a.bias[i]);
      y[i] = static_cast<float>(v);
    }
    return;
  }
  const auto middle = static_cast<float>(mean), short_factor = static_cast<float>(factor);
  if (a.centre) {
    for (int64_t i = 0; i < a.cols; ++i) y[i] = (x[i] - middle) * short_factor;
  } else {
    for (int64_t i = 0; i < a.cols; ++i) y[i] = x[i] * short_factor;
  }
  if (a.w != nullptr) {
    for (int64_t i = 0; i < a.cols; ++i) y[i] *= a.w[i];
  }
  if (a.bias != nullptr) {
    for (int64_t i = 0; i < a.cols; ++i) y[i] += a.bias[i];
  }
}

inline void norm(const NormArgs& a, int64_t first, int64_t count) {
  for (int64_t r = first; r < first + count; ++r) norm_row(a, a.x + r * a.cols, a.y + r * a.cols);
}

// (a, b) ← (a·cos − b·sin, a·sin + b·cos), each product rounded to T on its own.
template <class T>
LANE_INLINE void rotate_pair(float a, float b, float cos, float sin, float* first, float* second) {
  const T ta = a, tb = b, c = cos, s = sin;
  *first = static_cast<float>(ta * c - tb * s);
  *second = static_cast<float>(ta * s + tb * c);
}

template <class T>
LANE_INLINE void rotate_head(const RopeArgs& a, const float* x, const float* cos, const float* sin, float* y) {
  if (a.interleaved) {
    for (int64_t i = 0; i < a.half; ++i)
      rotate_pair<T>(x[2 * i], x[2 * i + 1], cos[i], sin[i], y + 2 * i, y + 2 * i + 1);
  } else {
    for (int64_t i = 0; i < a.half; ++i) rotate_pair<T>(x[i], x[a.half + i], cos[i], sin[i], y + i, y + a.half + i);
  }
  for (int64_t i = 2 * a.half; i < a.hd; ++i) y[i] = x[i];
}

// `cos` and `sin` are the tables' rows of row 0's position.
inline void rope(const RopeArgs& a, int64_t first_row, int64_t rows) {
  for (int64_t r = first_row; r < first_row + rows; ++r) {
    for (int64_t h = 0; h < a.per_row; ++h) {
      const int64_t at = (r * a.per_row + h) * a.hd;
      if (a.precise) {
        rotate_head<double>(a, a.x + at, a.cos + r * a.half, a.sin + r * a.half, a.y + at);
      } else {
        rotate_head<float>(a, a.x + at, a.cos + r * a.half, a.sin + r * a.half, a.y + at);
      }
    }
  }
}

inline void add(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

inline void multiply(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

// The product is taken in f64, whose 53 bits c may need, and rounded once.
inline void scale(const float* x, double c, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) * c);
}

LANE_INLINE double sigmoid_f64(double x) {
  const double e = __builtin_exp(-__builtin_fabs(x));
  return (x >= 0 ? 1.0 : e) / (1.0 + e);
}

inline double activate_f64(spec::UnaryOp op, double x, double c) {
  switch (op) {
    case spec::UnaryOp::kSilu:
      return x * sigmoid_f64(x);
    case spec::UnaryOp::kSigmoid:
      return sigmoid_f64(x);
    case spec::UnaryOp::kGelu:
      return 0.5 * x *
             (1.0 + __builtin_tanh(__builtin_sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case spec::UnaryOp::kSoftplus:
      return (x > 0 ? x : 0.0) + __builtin_log1p(__builtin_exp(-__builtin_fabs(x)));
    case spec::UnaryOp::kTanh:
      return __builtin_tanh(x);
    case spec::UnaryOp::kSoftCap:
      return c * __builtin_tanh(x / c);
  }
  return x;
}

LANE_INLINE F32 activate_f32(spec::UnaryOp op, F32 x, float c) {
  switch (op) {
    case spec::UnaryOp::kSilu:
      return silu(x);
    case spec::UnaryOp::kSigmoid:
      return sigmoid(x);
    case spec::UnaryOp::kGelu:
      return gelu(x);
    case spec::UnaryOp::kTanh:
      return tanh(x);
    case spec::UnaryOp::kSoftCap:
      return splat(c) * tanh(x / splat(c));
    default:
      return x;
  }
}

// y = f(v) eight values at a time, v given by load_at(i, load).
template <class Map>
LANE_INLINE void map_vectors(const float* x, float* y, int64_t n, Map map) {
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) store(y + i, map(load(x + i)));
  if (whole < n) store_part(y + whole, map(load_part(x + whole, n - whole)), n - whole);
}

// Softplus is rare and cancels in f32: always f64.
inline void activate(spec::UnaryOp op, const float* x, double c, bool precise, float* y, int64_t n) {
  if (precise || op == spec::UnaryOp::kSoftplus) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(activate_f64(op, static_cast<double>(x[i]), c));
    return;
  }
  map_vectors(x, y, n, [&](F32 v) { return activate_f32(op, v, static_cast<float>(c)); });
}

inline void swiglu(const float* gate, const float* up, bool precise, float* y, int64_t n) {
  if (precise) {
    for (int64_t i = 0; i < n; ++i) {
      const double g = activate_f64(spec::UnaryOp::kSilu, static_cast<double>(gate[i]), 0.0);
      y[i] = static_cast<float>(g * static_cast<double>(up[i]));
    }
    return;
  }
  map_vectors(gate, y, n, [](F32 v) { return silu(v); });
  for (int64_t i = 0; i < n; ++i) y[i] *= up[i];
}

// The greatest value that is no NaN, -inf if there is none.
inline float greatest(const float* x, int64_t n) {
  F32 top = splat(-__builtin_inff());
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) top = max(load(x + i), top);
  float lanes[kLanes];
  store(lanes, top);
  float best = lanes[0];
  for (float lane : lanes) best = lane > best ? lane : best;
  for (int64_t i = whole; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

}  // namespace lane::cpu::LANE_ISA
