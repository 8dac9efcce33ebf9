// EnumNames: the names of an enum's values, which count from 0, in the order of their declaration.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/error.h>

namespace ffkit {

template <typename Enum, size_t n>
struct EnumNames {
  const char* what;  // as errors call it: "the order"
  std::array<const char*, n> names;

  const char* of(Enum value) const { return names.at(static_cast<size_t>(value)); }
  std::vector<std::string> all() const { return {names.begin(), names.end()}; }
  // Throws Error(invalid_argument) that lists the names.
  Enum parse(std::string_view name) const {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<Enum>(found - names.begin());
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is '{}'; it must be {} or {}", what, name,
                            fmt::join(names.begin(), names.end() - 1, ", "), names.back()));
  }
};

}  // namespace ffkit
