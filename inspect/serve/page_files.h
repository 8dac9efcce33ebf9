// The files of page/, which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

namespace ffkit::serve {

struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view content;
};
std::span<const PageFile> page_files();

}  // namespace ffkit::serve
