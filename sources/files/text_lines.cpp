#include "files/text_lines.h"

#include <simdjson.h>

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
  for_each_line(text, [&](std::string_view line, int64_t number) {
    if (line.empty()) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "line {} is empty; it must have one class a line", number);
    }
    lines.emplace_back(line);
  });
  if (lines.empty()) {
    throw source_error(path, ErrorCode::invalid_argument, "holds no classes");
  }
  return lines;
}

}  // namespace ffkit
