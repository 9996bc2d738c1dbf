#include "cpp/cpu/isa.h"

#include "cpp/cpu/kernels.h"
#include "cpp/runtime/error.h"

namespace lane::cpu {

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found = {Isa::kPortable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    found.push_back(Isa::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni")) {
      found.push_back(Isa::kAvx512);
    }
  }
#endif
  return found;
}

Isa find_isa(const std::string& name) {
  const std::vector<Isa> available = available_isas();
  if (name == "auto") return available.back();
  std::string allowed = "auto";
  for (const Isa isa : available) {
    if (name == isa_name(isa)) return isa;
    allowed += std::string(", ") + isa_name(isa);
  }
  throw Error(ErrorKind::kUsage, "cpu: instruction set: found " + name + ", allowed on this machine: " + allowed);
}

const Kernels& kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) return kernels_avx2();
  if (isa == Isa::kAvx512) return kernels_avx512();
#endif
  (void)isa;
  return kernels_portable();
}

}  // namespace lane::cpu
