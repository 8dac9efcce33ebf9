#include "files/class_list.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "converter/input/input_file.h"
#include "converter/input/source_error.h"

namespace ffkit {

std::vector<std::string> read_class_list(const std::filesystem::path& path) {
  constexpr int64_t kMaxBytes = 64 << 20;
  const std::string text = read_source_text(path, kMaxBytes);
  if (!simdjson::validate_utf8(text)) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "is no UTF-8 text; it must have one class a line");
  }
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "line {} is empty; it must have one class a line", lines.size() + 1);
    }
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  if (lines.empty()) {
    throw source_error(path, ErrorCode::invalid_argument, "holds no classes");
  }
  return lines;
}

}  // namespace ffkit
