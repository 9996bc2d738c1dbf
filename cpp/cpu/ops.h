// Each launch kind made an op: one function a kind, in its family's file.
#pragma once

#include <memory>

#include "cpp/cpu/binder.h"
#include "cpp/cpu/op.h"

namespace lane::cpu {

// Null for a launch that does nothing.
std::unique_ptr<Op> bind_launch(const spec::Gather& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::View& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::SetRow& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Slice& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Norm& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Quant& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Gemv& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Binary& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Scale& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Unary& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::SwiGlu& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Rope& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::Attention& launch, Binder& binder);
std::unique_ptr<Op> bind_launch(const spec::ArgMax& launch, Binder& binder);

}  // namespace lane::cpu
