// Text put together from words and numbers: messages and the text form of problems.
#pragma once

#include <sstream>
#include <string>

namespace lane {

template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace lane
