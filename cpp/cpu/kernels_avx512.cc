#define LANE_ISA avx512
#include "cpp/cpu/kernel_table.h"

namespace lane::cpu {

const Kernels& kernels_avx512() {
  static constexpr Kernels table = avx512::kernel_table(Isa::kAvx512);
  return table;
}

}  // namespace lane::cpu
