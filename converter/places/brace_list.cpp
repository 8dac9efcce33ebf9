#include "places/brace_list.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/make_error.h"
#include "base/number_text.h"
#include "places/place.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 1'000'000;

[[noreturn]] void refuse_list(std::string_view list, const char* why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("'{{{}}}' {}", list, why),
              {.subject = ErrorSubject::source,
               .remedy = "write numbers as {000..640}, and names as {train,val}"});
}

std::optional<int64_t> whole_number(std::string_view text) {
  constexpr size_t kMostDigits = 15;
  if (text.size() > kMostDigits || text.starts_with('-')) return std::nullopt;
  return number_of_text<int64_t>(text);
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  if (const size_t dots = list.find(".."); dots != std::string_view::npos) {
    const std::string_view from = list.substr(0, dots);
    const std::string_view to = list.substr(dots + 2);
    const auto first = whole_number(from);
    const auto last = whole_number(to);
    if (!first || !last) refuse_list(list, "is not a range of numbers");
    if (*last < *first) refuse_list(list, "has a first number that is larger than the last number");
    if (*last - *first >= static_cast<int64_t>(kMostNames)) refuse_list(list, "has too many names");
    const bool has_zeros = (from.size() > 1 && from.front() == '0') || from.size() == to.size();
    const size_t width = has_zeros ? std::max(from.size(), to.size()) : 0;
    for (int64_t i = *first; i <= *last; ++i) names.push_back(fmt::format("{:0{}}", i, width));
    return names;
  }
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// The first list of `text`: where its braces are.
std::optional<std::pair<size_t, size_t>> find_list(std::string_view text) {
  const size_t open = text.find('{');
  if (open == std::string_view::npos) return std::nullopt;
  const size_t close = text.find('}', open);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view list = text.substr(open + 1, close - open - 1);
  const bool is_list = list.find("..") != std::string_view::npos || list.find(',') < list.size();
  if (!is_list || list.find('{') != std::string_view::npos) return std::nullopt;
  return std::pair{open, close};
}

void expand(const std::string& text, std::vector<fs::path>& all) {
  const auto list = find_list(text);
  if (!list) {
    if (all.size() >= kMostNames) {
      throw Error(ErrorCode::invalid_argument, "the list has more than a million names",
                  {.subject = ErrorSubject::source, .remedy = "give a shorter list"});
    }
    all.push_back(Place(text).path());
    return;
  }
  const auto [open, close] = *list;
  for (const std::string& name :
       names_in(std::string_view(text).substr(open + 1, close - open - 1))) {
    expand(text.substr(0, open) + name + text.substr(close + 1), all);
  }
}

}  // namespace

bool is_brace_list(const fs::path& path) {
  if (!find_list(path.native())) return false;
  std::error_code ignored;
  return Place(path).is_in_store() || !fs::exists(path, ignored);
}

std::vector<fs::path> expand_braces(const fs::path& path) {
  std::vector<fs::path> all;
  try {
    expand(path.native(), all);
  } catch (const Error& error) {
    throw error.within({.path = shown_place(path)});
  }
  return all;
}

std::string name_below(const fs::path& path, const fs::path& file) {
  if (file == path || file == shown_place(path)) return name_of_file(file);
  if (!is_brace_list(path)) return file.lexically_relative(path).string();
  const std::string& text = path.native();
  const size_t slash = text.rfind('/', text.find('{'));
  return slash == std::string::npos ? file.string()
                                    : file.lexically_relative(text.substr(0, slash)).string();
}

}  // namespace ffkit
