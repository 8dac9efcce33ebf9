#include "folder/val_annotations.h"

#include "base/printable.h"
#include "converter/input/source_error.h"
#include "imagenet/lines.h"

namespace ffkit {

std::map<std::string, std::string> parse_val_annotations(std::string_view text,
                                                         const std::string& origin) {
  std::map<std::string, std::string> classes;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    const auto refuse = [&](const char* what) {
      constexpr size_t kMaxQuoted = 40;
      throw source_error(origin, ErrorCode::corrupt, "line {}: '{}' {}; download it again", number,
                         printable(std::string(line.substr(0, kMaxQuoted))), what);
    };
    const size_t tab = line.find('\t');
    if (tab == 0 || tab == std::string_view::npos) {
      refuse("is not a picture, a tab and its class");
    }
    const std::string_view rest = line.substr(tab + 1);
    const std::string name(rest.substr(0, rest.find('\t')));
    if (name.empty()) refuse("is not a picture, a tab and its class");
    if (!classes.emplace(line.substr(0, tab), name).second) {
      refuse("names a picture for the second time");
    }
  });
  if (classes.empty()) {
    throw source_error(origin, ErrorCode::corrupt, "is empty; download it again");
  }
  return classes;
}

}  // namespace ffkit
