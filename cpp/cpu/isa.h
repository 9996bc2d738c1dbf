// The instruction sets that the kernels are compiled for, and which of them this machine runs.
#pragma once

#include <string>
#include <vector>

namespace lane::cpu {

enum class Isa { kPortable, kAvx2, kAvx512 };

const char* isa_name(Isa isa);

// Those this machine runs, the fastest last.
std::vector<Isa> available_isas();

// The set of that name, or the fastest available for "auto"; lane::Error if there is none or the machine lacks it.
Isa find_isa(const std::string& name);

}  // namespace lane::cpu
