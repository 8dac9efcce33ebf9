// A text that somebody has written in an editor.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "file.h"

namespace ffkit {

// Without the byte order mark of UTF-8 that some editors put before a text.
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

// As read_whole_text(), without that mark.
inline std::string read_user_text(const std::filesystem::path& path) {
  return std::string(without_byte_order_mark(read_whole_text(path)));
}

}  // namespace ffkit
