#include "input/argument_values.h"

#include <sstream>
#include <string_view>

namespace ffkit {

std::string key_of(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

DType dtype_of(const SourceArguments& a, const char* name, std::initializer_list<DType> allowed) {
  const std::string text = a.text(name);
  if (text.empty()) return *allowed.begin();
  std::vector<std::string_view> names;
  for (const DType dtype : allowed) {
    if (text == to_string(dtype)) return dtype;
    names.push_back(to_string(dtype));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: it must be one of {}", option_set(key_of(name), text),
                          fmt::join(names, ", ")));
}

std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  std::istringstream stream(text + ",");
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

}  // namespace ffkit
