// The list of formats that the device multiplies. A format is its file and a line in each half of this one.
#pragma once

#include "cpp/cpu/quants/floats.h"
#include "cpp/cpu/quants/iq1_m.h"
#include "cpp/cpu/quants/iq1_s.h"
#include "cpp/cpu/quants/iq2_s.h"
#include "cpp/cpu/quants/iq2_xs.h"
#include "cpp/cpu/quants/iq2_xxs.h"
#include "cpp/cpu/quants/iq3_s.h"
#include "cpp/cpu/quants/iq3_xxs.h"
#include "cpp/cpu/quants/iq4_nl.h"
#include "cpp/cpu/quants/iq4_xs.h"
#include "cpp/cpu/quants/mxfp4.h"
#include "cpp/cpu/quants/nvfp4.h"
#include "cpp/cpu/quants/q2_k.h"
#include "cpp/cpu/quants/q3_k.h"
#include "cpp/cpu/quants/q4_0.h"
#include "cpp/cpu/quants/q4_1.h"
#include "cpp/cpu/quants/q4_k.h"
#include "cpp/cpu/quants/q5_0.h"
#include "cpp/cpu/quants/q5_1.h"
#include "cpp/cpu/quants/q5_k.h"
#include "cpp/cpu/quants/q6_k.h"
#include "cpp/cpu/quants/q8_0.h"
#include "cpp/cpu/quants/tq1_0.h"
#include "cpp/cpu/quants/tq2_0.h"

#define LANE_FLOAT_FORMATS(X) \
  X(PlainF32)                 \
  X(PlainF16)                 \
  X(PlainBf16)

#define LANE_BLOCK_FORMATS(X) \
  X(Q8_0)                     \
  X(Q4_0)                     \
  X(Q4_1)                     \
  X(Q5_0)                     \
  X(Q5_1)                     \
  X(Q2_K)                     \
  X(Q3_K)                     \
  X(Q4_K)                     \
  X(Q5_K)                     \
  X(Q6_K)                     \
  X(MXFP4)                    \
  X(NVFP4)                    \
  X(IQ4_NL)                   \
  X(IQ4_XS)                   \
  X(IQ3_S)                    \
  X(IQ3_XXS)                  \
  X(IQ2_S)                    \
  X(IQ2_XS)                   \
  X(IQ2_XXS)                  \
  X(IQ1_S)                    \
  X(IQ1_M)                    \
  X(TQ1_0)                    \
  X(TQ2_0)
