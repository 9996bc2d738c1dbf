// Each launch kind that has a kernel here made an op: one function a kind, in its family's file.
#pragma once

#include <initializer_list>
#include <memory>

#include "cpp/cpu/binder.h"
#include "cpp/cpu/op.h"

// X(Kind, options…): the kinds with a kernel, and which of a launch's options it takes. A kind that is not here, or a
// launch that makes use of another option, is refused by name.
#define LANE_CPU_KINDS(X)                \
  X(Gather, "scale")                     \
  X(View)                                \
  X(SetRow, "index", "row")              \
  X(Slice)                               \
  X(Norm, "w", "bias", "out", "centre")  \
  X(Quant)                               \
  X(Gemv)                                \
  X(Binary, "row")                       \
  X(Scale)                               \
  X(Unary, "c")                          \
  X(SwiGlu)                              \
  X(Rope, "pos")                         \
  X(Attention, "sinks", "window", "cap") \
  X(ArgMax)

namespace lane::cpu {

// Null for a launch that does nothing.
#define LANE_BIND(Kind, ...) std::unique_ptr<Op> bind_launch(const spec::Kind& launch, Binder& binder);
LANE_CPU_KINDS(LANE_BIND)
#undef LANE_BIND

// Which options of a kind have a kernel; `kHas` is false where there is none at all.
template <class Launch>
struct CpuKind {
  static constexpr bool kHas = false;
};
#define LANE_CPU_KIND(Kind, ...)                                                  \
  template <>                                                                     \
  struct CpuKind<spec::Kind> {                                                    \
    static constexpr bool kHas = true;                                            \
    static constexpr std::initializer_list<const char*> kOptions = {__VA_ARGS__}; \
  };
LANE_CPU_KINDS(LANE_CPU_KIND)
#undef LANE_CPU_KIND

}  // namespace lane::cpu
