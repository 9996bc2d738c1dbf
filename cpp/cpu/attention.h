// Softmax attention of query rows over a cached span.
//
// A row's span is cut at multiples of kSpanChunk positions. Each chunk gives a part: the greatest score m, the sum l of
// e^(s - m), and o = Σ e^(s - m)·v, position after position. Parts are merged in order. So a row's result depends on
// its position alone, and not on the rows, heads or chunks that are computed beside it. Scores are eight-lane dots.
#pragma once

#include "cpp/cpu/kernels.h"
#include "cpp/cpu/row_kernels.h"
#include "cpp/cpu/simd_math.h"

namespace lane::cpu::LANE_ISA {

inline constexpr int kSpan = kSpanChunk;
inline constexpr int kQueries = 3;    // queries that share a key while it is in registers
inline constexpr int kPositions = 4;  // keys that share a query: as many as store_4 stores scores
inline constexpr float kNever = -__builtin_inff();

// Positions [first, end) that a query row sees.
struct Span {
  int64_t first, end;
};
LANE_INLINE Span span_of(const AttentionArgs& a, int64_t row) {
  const int64_t end = a.start + row + 1;
  const int64_t first = a.window > 0 && end > a.window ? end - a.window : 0;
  return {first, end};
}
LANE_INLINE Span within(Span s, int64_t chunk) {
  const int64_t low = chunk * kSpan, high = low + kSpan;
  return {s.first > low ? s.first : low, s.end < high ? s.end : high};
}

// Parts lie end to end: m, l, then o.
LANE_INLINE int64_t part_floats(const AttentionArgs& a) { return 2 + a.vd; }

template <int kQ>
LANE_INLINE void score_tile(const float* const* q, const float* const* keys, int64_t hd, float* scores) {
  F32 lanes[kQ][kPositions];
  for (auto& row : lanes) {
    for (auto& sum : row) sum = splat(0.0f);
  }
  const auto step = [&](int64_t i, auto load_at) __attribute__((always_inline)) {
    F32 query[kQ];
#pragma GCC unroll 4
    for (int j = 0; j < kQ; ++j) query[j] = load_at(q[j] + i);
#pragma GCC unroll 4
    for (int p = 0; p < kPositions; ++p) {
      const F32 key = load_at(keys[p] + i);
#pragma GCC unroll 4
      for (int j = 0; j < kQ; ++j) lanes[j][p] = fma(query[j], key, lanes[j][p]);
    }
  };
  const int64_t whole = hd / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) step(i, [](const float* p) { return load(p); });
  if (whole < hd) step(whole, [&](const float* p) { return load_part(p, hd - whole); });
  for (int j = 0; j < kQ; ++j) {
    const F32 halves = fold_halves(lanes[j][0], lanes[j][1], lanes[j][2], lanes[j][3]);
    store_4(scores + j * kSpan, half_sums(halves, splat(0.0f)));
  }
}

// Raw scores of kQ queries over the positions [from, to) of a chunk that starts at `low`; `from` is a multiple of 4.
template <int kQ>
LANE_INLINE void chunk_scores(const AttentionArgs& a, const float* const* q, const float* keys, int64_t pitch,
                              int64_t low, int64_t from, int64_t to, float* scores) {
  for (int64_t p = from; p < to; p += kPositions) {
    const float* key[kPositions];
    for (int i = 0; i < kPositions; ++i) key[i] = keys + (p + i < to ? p + i : to - 1) * pitch;
    score_tile<kQ>(q, key, a.hd, scores + (p - low));
  }
}

// A query's raw scores within a chunk become weights e^(s - m), zero outside its span; gives m and l.
LANE_INLINE void chunk_softmax(const AttentionArgs& a, Span span, int64_t low, float* scores, float* m, float* l) {
  const F32 scale = splat(static_cast<float>(a.scale)), cap = splat(static_cast<float>(a.cap));
  for (int i = 0; i < kSpan; i += kLanes) {
    const F32 s = load(scores + i) * scale;
    store(scores + i, a.cap > 0 ? cap * tanh(s / cap) : s);
  }
  for (int64_t i = 0; i < span.first - low; ++i) scores[i] = kNever;
  for (int64_t i = span.end - low; i < kSpan; ++i) scores[i] = kNever;
  const float top = greatest(scores, kSpan);
  F32 sum = splat(0.0f);
  for (int i = 0; i < kSpan; i += kLanes) {
    const F32 e = exp(load(scores + i) - splat(top));
    store(scores + i, e);
    sum = sum + e;
  }
  *m = top;
  *l = fold(sum);
}

// o[j] += weight[j][p] · v[p] over positions [from, to), in order, kD vectors of the width at a time.
template <int kQ, int kD>
LANE_INLINE void weigh_columns(const float* const* weights, const float* values, int64_t pitch, int64_t from,
                               int64_t to, float* const* o, int64_t column) {
  F32 sum[kQ][kD];
#pragma GCC unroll 4
  for (int j = 0; j < kQ; ++j) {
#pragma GCC unroll 4
    for (int d = 0; d < kD; ++d) sum[j][d] = load(o[j] + column + d * kLanes);
  }
  for (int64_t p = from; p < to; ++p) {
    F32 weight[kQ];
#pragma GCC unroll 4
    for (int j = 0; j < kQ; ++j) weight[j] = splat(weights[j][p]);
#pragma GCC unroll 4
    for (int d = 0; d < kD; ++d) {
      const F32 v = load(values + p * pitch + column + d * kLanes);
#pragma GCC unroll 4
      for (int j = 0; j < kQ; ++j) sum[j][d] = fma(weight[j], v, sum[j][d]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kQ; ++j) {
#pragma GCC unroll 4
    for (int d = 0; d < kD; ++d) store(o[j] + column + d * kLanes, sum[j][d]);
  }
}

template <int kQ>
LANE_INLINE void weigh(const float* const* weights, const float* values, int64_t pitch, int64_t from, int64_t to,
                       float* const* o, int64_t vd) {
  int64_t column = 0;
  for (; column + 4 * kLanes <= vd; column += 4 * kLanes) {
    weigh_columns<kQ, 4>(weights, values, pitch, from, to, o, column);
  }
  for (; column + kLanes <= vd; column += kLanes) {
    weigh_columns<kQ, 1>(weights, values, pitch, from, to, o, column);
  }
  for (int j = 0; j < kQ; ++j) {
    for (int64_t d = column; d < vd; ++d) {
      float sum = o[j][d];
      for (int64_t p = from; p < to; ++p) sum = __builtin_fmaf(weights[j][p], values[p * pitch + d], sum);
      o[j][d] = sum;
    }
  }
}

// The weighted values of kQ queries: what all of them see together, what only one sees alone, each in order.
template <int kQ>
LANE_INLINE void chunk_values(const AttentionArgs& a, const float* const* weights, const Span* spans,
                              const float* values, int64_t pitch, float* const* o) {
  Span common = spans[0];
  for (int j = 1; j < kQ; ++j) {
    common.first = spans[j].first > common.first ? spans[j].first : common.first;
    common.end = spans[j].end < common.end ? spans[j].end : common.end;
  }
  if (common.first >= common.end) {
    for (int j = 0; j < kQ; ++j) weigh<1>(weights + j, values, pitch, spans[j].first, spans[j].end, o + j, a.vd);
    return;
  }
  for (int j = 0; j < kQ; ++j) weigh<1>(weights + j, values, pitch, spans[j].first, common.first, o + j, a.vd);
  weigh<kQ>(weights, values, pitch, common.first, common.end, o, a.vd);
  for (int j = 0; j < kQ; ++j) weigh<1>(weights + j, values, pitch, common.end, spans[j].end, o + j, a.vd);
}

// The parts of kQ queries of one key/value head: query j is head j of its group, counted over rows.
template <int kQ>
void queries_part(const AttentionArgs& a, int64_t kv_head, int64_t query, int64_t chunk, float* parts, float* scores) {
  const int64_t kv_heads = a.heads / a.group, low = chunk * kSpan;
  const int64_t key_pitch = kv_heads * a.hd, value_pitch = kv_heads * a.vd;
  const float *q[kQ], *weights[kQ];
  float* o[kQ];
  Span spans[kQ];
  int64_t from = low + kSpan, to = low;
  for (int j = 0; j < kQ; ++j) {
    const int64_t row = (query + j) / a.group, head = kv_head * a.group + (query + j) % a.group;
    q[j] = a.q + (row * a.heads + head) * a.hd;
    weights[j] = scores + j * kSpan - low;
    o[j] = parts + j * part_floats(a) + 2;
    spans[j] = within(span_of(a, row), chunk);
    from = spans[j].first < from ? spans[j].first : from;
    to = spans[j].end > to ? spans[j].end : to;
  }
  for (int i = 0; i < kQ * kSpan; ++i) scores[i] = 0.0f;
  if (from < to) {
    chunk_scores<kQ>(a, q, a.keys + kv_head * a.hd, key_pitch, low, from & ~int64_t{kPositions - 1}, to, scores);
  }
  for (int j = 0; j < kQ; ++j) {
    float* part = o[j] - 2;
    for (int64_t i = 0; i < part_floats(a); ++i) part[i] = 0.0f;
    if (spans[j].first < spans[j].end) {
      chunk_softmax(a, spans[j], low, scores + j * kSpan, part, part + 1);
    } else {
      part[0] = kNever;
      spans[j] = {low, low};
    }
  }
  chunk_values<kQ>(a, weights, spans, a.values + kv_head * a.vd, value_pitch, o);
}

inline void queries_parts(const AttentionArgs& a, int64_t kv_head, int64_t query, int64_t count, int64_t chunk,
                          float* parts, float* scores) {
  int64_t i = 0;
  for (; i + kQueries <= count; i += kQueries) {
    queries_part<kQueries>(a, kv_head, query + i, chunk, parts + i * part_floats(a), scores);
  }
  for (; i < count; ++i) queries_part<1>(a, kv_head, query + i, chunk, parts + i * part_floats(a), scores);
}

// A query's running total (laid out as a part) joined by the next part.
LANE_INLINE void merge(const AttentionArgs& a, float* total, const float* part) {
  if (part[0] == kNever && part[1] == 0.0f) return;
  const float m = part[0] > total[0] ? part[0] : total[0];
  float factors[kLanes] = {total[0] - m, part[0] - m};
  store(factors, exp(load(factors)));
  const float old = factors[0], fresh = factors[1];
  total[0] = m;
  for (int64_t i = 1; i < part_floats(a); ++i) total[i] = total[i] * old + part[i] * fresh;
}

// A sink is a score without a value: it starts the total.
LANE_INLINE void start_total(const AttentionArgs& a, int64_t head, float* total) {
  total[0] = a.sinks == nullptr ? kNever : a.sinks[head];
  total[1] = a.sinks == nullptr ? 0.0f : 1.0f;
  for (int64_t i = 2; i < part_floats(a); ++i) total[i] = 0.0f;
}

LANE_INLINE void finish(const AttentionArgs& a, int64_t row, int64_t head, const float* total) {
  float* out = a.out + (row * a.heads + head) * a.vd;
  for (int64_t d = 0; d < a.vd; ++d) out[d] = total[2 + d] / total[1];
}

inline int64_t attention_scratch(const AttentionArgs& a, int64_t rows) {
  return (rows * a.group * 2 * part_floats(a) + kQueries * kSpan) * static_cast<int64_t>(sizeof(float));
}

inline void attention(const AttentionArgs& a, int64_t kv_head, int64_t first, int64_t rows, void* scratch) {
  const int64_t queries = rows * a.group, floats = part_floats(a);
  auto* scores = static_cast<float*>(scratch);
  float* parts = scores + kQueries * kSpan;
  float* totals = parts + queries * floats;
  for (int64_t i = 0; i < queries; ++i) start_total(a, kv_head * a.group + i % a.group, totals + i * floats);
  const int64_t begin = span_of(a, first).first / kSpan;
  const int64_t end = (span_of(a, first + rows - 1).end + kSpan - 1) / kSpan;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    queries_parts(a, kv_head, first * a.group, queries, chunk, parts, scores);
    for (int64_t i = 0; i < queries; ++i) merge(a, totals + i * floats, parts + i * floats);
  }
  for (int64_t i = 0; i < queries; ++i) {
    finish(a, first + i / a.group, kv_head * a.group + i % a.group, totals + i * floats);
  }
}

inline void attention_part(const AttentionArgs& a, int64_t kv_head, int64_t row, int64_t chunk, float* parts,
                           void* scratch) {
  queries_parts(a, kv_head, row * a.group, a.group, chunk, parts, static_cast<float*>(scratch));
}

inline void attention_merge(const AttentionArgs& a, int64_t head, int64_t row, const float* parts, int64_t stride,
                            int64_t chunks, float* total) {
  start_total(a, head, total);
  for (int64_t i = 0; i < chunks; ++i) merge(a, total, parts + i * stride);
  finish(a, row, head, total);
}

// Scores, then weights, of the whole span in f64; `scratch` holds len + vd doubles.
inline void attention_precise(const AttentionArgs& a, int64_t head, int64_t row, double* scratch) {
  const int64_t kv_heads = a.heads / a.group, kv_head = head / a.group;
  const Span span = span_of(a, row);
  const float* q = a.q + (row * a.heads + head) * a.hd;
  double* s = scratch;
  double* o = scratch + a.len;
  double top = a.sinks == nullptr ? -__builtin_inf() : static_cast<double>(a.sinks[head]);
  const double sink = top;
  for (int64_t p = span.first; p < span.end; ++p) {
    const float* key = a.keys + (p * kv_heads + kv_head) * a.hd;
    double lanes[kLanes] = {};
    for (int64_t i = 0; i < a.hd; ++i) lanes[i % kLanes] += static_cast<double>(q[i]) * static_cast<double>(key[i]);
    double score = a.scale * fold(load_f64(lanes));
    if (a.cap > 0) score = a.cap * __builtin_tanh(score / a.cap);
    s[p] = score;
    top = score > top ? score : top;
  }
  double total = a.sinks == nullptr ? 0.0 : __builtin_exp(sink - top);
  for (int64_t d = 0; d < a.vd; ++d) o[d] = 0.0;
  for (int64_t p = span.first; p < span.end; ++p) {
    const float* value = a.values + (p * kv_heads + kv_head) * a.vd;
    const double e = __builtin_exp(s[p] - top);
    total += e;
    for (int64_t d = 0; d < a.vd; ++d) o[d] += e * static_cast<double>(value[d]);
  }
  float* out = a.out + (row * a.heads + head) * a.vd;
  for (int64_t d = 0; d < a.vd; ++d) out[d] = static_cast<float>(o[d] / total);
}

}  // namespace lane::cpu::LANE_ISA
