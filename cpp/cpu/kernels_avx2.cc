#define LANE_ISA avx2
#include "cpp/cpu/kernel_table.h"

namespace lane::cpu {

const Kernels& kernels_avx2() {
  static constexpr Kernels table = avx2::kernel_table(Isa::kAvx2);
  return table;
}

}  // namespace lane::cpu
