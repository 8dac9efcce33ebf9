// The names of an enum's values, in a table that to_string() and the parse function read:
//
//   constexpr EnumName<Tail> kTailNames[] = {{Tail::drop, "drop"}, {Tail::keep, "keep"}};
//   name_of(kTailNames, Tail::drop)  // "drop"
//   names_in(kTailNames)  // "drop", "keep"
//   value_of(kTailNames, "keep", "tail")  // Tail::keep
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

// The first name of `value` in the table; "unknown" without one.
template <typename Enum, size_t n>
constexpr std::string_view name_of(const EnumName<Enum> (&names)[n], Enum value) {
  for (const EnumName<Enum>& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

// The names in the order of the table.
template <typename Enum, size_t n>
std::vector<std::string> names_in(const EnumName<Enum> (&names)[n]) {
  std::vector<std::string> all;
  for (const EnumName<Enum>& entry : names) all.emplace_back(entry.name);
  return all;
}

// Throws Error(invalid_argument): "there is no tail 'cut'; there are drop and keep".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name,
                              std::vector<std::string> names);

// The value with this name; throws as refuse_name() without one.
template <typename Enum, size_t n>
Enum value_of(const EnumName<Enum> (&names)[n], std::string_view name, std::string_view what) {
  for (const EnumName<Enum>& entry : names) {
    if (entry.name == name) return entry.value;
  }
  refuse_name(what, name, names_in(names));
}

// What somebody may have meant by a name that there is not: the three of `names` that need the
// fewest letters changed, added or left out to become `name`, nearest first; '_' and '-' are the
// same.
std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names);

}  // namespace ffkit
