#include "credentials/ini_file.h"

#include <algorithm>

namespace ffkit {
namespace {

std::string_view without_spaces(std::string_view text) {
  const std::string_view spaces = " \t\r\f\v";
  const size_t begin = std::min(text.find_first_not_of(spaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(spaces) + 1);
}

// A comment begins a line, or stands behind a space.
std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_mark = line[i] == '#' || line[i] == ';';
    if (is_mark && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  }
  return line;
}

std::string one_space_between(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) result += c;
    if (is_space && !result.empty() && result.back() != ' ') result += ' ';
  }
  return result;
}

std::string unquoted(std::string name) {
  std::erase(name, '"');
  std::erase(name, '\'');
  return name;
}

}  // namespace

IniFile parse_ini(std::string_view text) {
  IniFile file;
  IniSection* section = nullptr;
  std::string parent;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::string_view line = without_spaces(without_comment(whole));
    if (line.empty()) continue;
    if (line.starts_with('[')) {
      const std::string_view name = line.substr(1, line.find(']') - 1);
      section = &file[unquoted(one_space_between(without_spaces(name)))];
      parent.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name(without_spaces(line.substr(0, equals)));
    const std::string value(without_spaces(line.substr(equals + 1)));
    const bool is_indented = whole.front() == ' ' || whole.front() == '\t';
    if (is_indented && !parent.empty()) {
      section->insert_or_assign(std::string(parent).append(".").append(name), value);
    } else {
      section->insert_or_assign(name, value);
      parent = value.empty() ? name : "";
    }
  }
  return file;
}

}  // namespace ffkit
