#include "other_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

namespace ffkit {

extern const char* const kOtherWords;  // other_words.txt, by CMake

namespace {

struct Row {
  std::string place, ours;
  std::vector<std::string> theirs;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> found;
    std::istringstream lines(kOtherWords);
    for (std::string line; std::getline(lines, line);) {
      const size_t first = line.find(" | "), second = line.find(" | ", first + 1);
      if (line.starts_with("#") || second == std::string::npos) continue;
      found.push_back({line.substr(0, first), line.substr(first + 3, second - first - 3),
                       words_of(line.substr(second + 3))});
    }
    return found;
  }();
  return all;
}

std::string plain(std::string_view word) {
  std::string out(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::ranges::replace(out, '_', '-');
  return out;
}

// What the table has for `word`, and whether it is a name of an earlier version.
std::optional<std::pair<std::string, bool>> find_word(std::string_view place, std::string_view word,
                                                      const std::vector<std::string>& known) {
  const std::string theirs = plain(word);
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(known, [&](const std::string& k) { return plain(k) == name; });
  };
  for (const Renamed& row : renamed()) {
    if (row.kind == "option" && plain(row.old_name) == theirs && is_known(plain(row.name)))
      return std::pair(plain(row.name), true);
  }
  for (const bool is_general : {false, true}) {
    for (const Row& row : rows()) {
      const bool fits = is_general
                            ? row.place.empty() && is_known(row.ours)
                            : !row.place.empty() && place.starts_with(row.place) &&
                                  place.ends_with("command") == row.place.ends_with("command");
      if (fits && std::ranges::find(row.theirs, theirs) != row.theirs.end())
        return std::pair(row.ours, false);
    }
  }
  return std::nullopt;
}

}  // namespace

const std::vector<Renamed>& renamed() {
  static const std::vector<Renamed> all = [] {
    std::vector<Renamed> found;
    for (const Row& row : rows()) {
      if (row.place.starts_with("old "))
        found.push_back({row.place.substr(4), row.ours, row.theirs.front()});
    }
    return found;
  }();
  return all;
}

std::string current_name(std::string_view kind, std::string_view name) {
  const auto found = std::ranges::find_if(
      renamed(), [&](const Renamed& r) { return r.kind == kind && r.old_name == name; });
  return found == renamed().end() ? std::string(name) : found->name;
}

std::map<std::string, std::string> with_current_names(
    const std::map<std::string, std::string>& options) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : options) {
    const std::string option = current_name("option", name);
    out[option] = current_name(option, value);
  }
  return out;
}

std::map<std::string, std::string> with_first_names(
    const std::map<std::string, std::string>& options) {
  const auto first_name = [](std::string_view kind, const std::string& name) {
    const auto found = std::ranges::find_if(
        renamed(), [&](const Renamed& r) { return r.kind == kind && r.name == name; });
    return found == renamed().end() ? name : found->old_name;
  };
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : options)
    out[first_name("option", name)] = first_name(name, value);
  return out;
}

bool is_other_word(std::string_view place, std::string_view word,
                   const std::vector<std::string>& known) {
  return find_word(place, word, known).has_value();
}

std::string words_on_name(std::string_view place, std::string_view word,
                          const std::vector<std::string>& known, OptionStyle style) {
  const auto shown = [style](std::string name) {
    if (style == OptionStyle::command_line) return name.starts_with("--") ? name : "--" + name;
    const auto end = name.begin() + std::ptrdiff_t(std::min(name.find_first_of(" ,"), name.size()));
    if (style == OptionStyle::python) std::replace(name.begin(), end, '-', '_');
    return name;
  };
  const auto other = find_word(place, word, known);
  if (!other) {
    std::vector<std::string> nearest = nearest_names(word, known);
    for (std::string& name : nearest) name = shown(name);
    return fmt::format("the nearest names are {}", fmt::join(nearest, ", "));
  }
  const auto& [ours, is_old] = *other;
  if (ours.empty()) return "no option does the same";
  if (ours.starts_with(": ")) return ours.substr(2);
  return is_old ? fmt::format("it is {} now", shown(ours))
                : fmt::format("use {} instead", shown(ours));
}

}  // namespace ffkit
