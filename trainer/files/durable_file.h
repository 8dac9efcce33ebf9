// Files that are whole or absent.
#pragma once

#include <filesystem>

#include "format/file/file.h"

namespace ffkit {

// Has `write(File&)` fill a file of a temporary name beside `path`, then fsync, rename and fsync of
// the folder. What was at `path` is replaced; on an exception it is untouched, and the temporary
// file is removed.
template <typename Write>
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

}  // namespace ffkit
