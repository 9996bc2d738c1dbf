// The list of formats that the device multiplies. A format is its file and a line in each half of this one.
#pragma once

#include "cpp/cpu/quants/floats.h"
#include "cpp/cpu/quants/q4_0.h"
#include "cpp/cpu/quants/q4_1.h"
#include "cpp/cpu/quants/q4_k.h"
#include "cpp/cpu/quants/q5_0.h"
#include "cpp/cpu/quants/q6_k.h"
#include "cpp/cpu/quants/q8_0.h"

#define LANE_FLOAT_FORMATS(X) \
  X(PlainF32)                 \
  X(PlainF16)                 \
  X(PlainBf16)

#define LANE_BLOCK_FORMATS(X) \
  X(Q4_0)                     \
  X(Q4_1)                     \
  X(Q5_0)                     \
  X(Q8_0)                     \
  X(Q4_K)                     \
  X(Q6_K)
