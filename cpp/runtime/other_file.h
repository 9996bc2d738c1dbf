// What a file is that is no GGUF, by how it begins: downloads go wrong in a few ways, and people give what lies beside
// the file that they mean.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lane {

// What such a file is and what to do about it, "" where it is none that is known.
std::string_view describe_other_file(std::span<const std::byte> bytes);

}  // namespace lane
