#include "left_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ffkit {

LeftOutError::LeftOutError(const std::string& message)
    : Error(ErrorCode::unsupported, message,
            {.remedy = fmt::format("this builds everything: {}", left_out_parts().command)}) {}

std::vector<std::string> left_out_names(std::string_view what) {
  std::vector<std::string> names;
  for (const LeftOutPart& part : left_out_parts().parts) {
    if (part.what == what) names.emplace_back(part.name);
  }
  return names;
}

void require_built(std::string_view what, std::string_view name) {
  for (const std::string& left_out : left_out_names(what)) {
    if (left_out != name) continue;
    throw LeftOutError(fmt::format("the {} '{}' is left out of this build", what, name));
  }
}

std::string left_out_line(std::initializer_list<std::string_view> whats) {
  std::vector<std::string> names;
  for (const std::string_view what : whats) {
    for (const std::string& name : left_out_names(what)) {
      names.push_back(what == *whats.begin() ? name : fmt::format("the {} {}", what, name));
    }
  }
  if (names.empty()) return "";
  return fmt::format("\nLeft out of this build: {}. This builds everything: {}\n",
                     fmt::join(names, ", "), left_out_parts().command);
}

std::string built_examples(std::string_view text, std::string_view what) {
  const std::vector<std::string> names = left_out_names(what);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const bool is_left_out = std::ranges::any_of(names, [&](const std::string& name) {
      return line.find(" " + name + " ") != line.npos || line.find("/" + name + "-") != line.npos;
    });
    if (!is_left_out) out += line;
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace ffkit
