// Files that are whole or absent.
#pragma once

#include <concepts>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "file.h"

namespace ffkit {

// Has `write(File&)` fill a file of a temporary name beside `path`, then fsync, rename and fsync of
// the folder. What was at `path` is replaced; on an exception it is untouched, and the temporary
// file is removed.
template <std::invocable<File&> Write>
void write_durably(const std::filesystem::path& path, Write write) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  try {
    File file = File::create(temporary);
    write(file);
    file.sync();
    file.close();
    rename_durably(temporary, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

// The same of a file that holds `text`.
inline void write_durably(const std::filesystem::path& path, std::string_view text) {
  write_durably(path, [text](File& file) { file.write(std::as_bytes(std::span(text))); });
}

}  // namespace ffkit
