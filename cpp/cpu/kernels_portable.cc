#define LANE_ISA portable
#include "cpp/cpu/kernel_table.h"

namespace lane::cpu {

const Kernels& kernels_portable() {
  static constexpr Kernels table = portable::kernel_table(Isa::kPortable);
  return table;
}

}  // namespace lane::cpu
