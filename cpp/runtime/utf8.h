// Text that came from outside: whether bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
// nothing past U+10FFFF), and how untrusted bytes are shown in a message.
#pragma once

#include <string>
#include <string_view>

namespace lane {

bool is_utf8(std::string_view bytes);

// The bytes between double quotes, always printable UTF-8 on one line: control characters, quotes, backslashes and
// bytes that are not UTF-8 are escaped, and what is longer than 96 bytes is cut and followed by its length.
std::string in_quotes(std::string_view bytes);

// The same for a path, never cut: who reads the message has to find the file.
std::string path_in_quotes(std::string_view path);

}  // namespace lane
