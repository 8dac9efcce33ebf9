// Text from outside, such as file names, made fit for messages.
#pragma once

#include <string>
#include <string_view>

namespace ffkit {

// True when `text` is UTF-8 as Unicode defines it: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

// `text` where it is UTF-8, else printable(text).
std::string utf8_of(std::string_view text);

// `text` on one line: control characters and bytes that are no UTF-8 become "\n", "\t" or "\x1b".
std::string printable(std::string_view text);

}  // namespace ffkit
