// The names of an enum's values, in a table beside the enum:
//
//   template <>
//   inline constexpr auto kNames<Tail> =
//       enum_names<Tail>("tail", {{Tail::drop, "drop"}, {Tail::keep, "keep"}});
//
//   to_string(Tail::drop)    // "drop"
//   from_name<Tail>("keep")  // Tail::keep
//   names_of<Tail>()         // "drop", "keep"
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ffkit {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

template <typename Enum, size_t n>
struct EnumNames {
  std::string_view what;  // of what they are names, for errors
  std::array<EnumName<Enum>, n> names;
};

template <typename Enum, size_t n>
constexpr EnumNames<Enum, n> enum_names(std::string_view what, const EnumName<Enum> (&names)[n]) {
  return {what, std::to_array(names)};
}

// Specialised for each enum that has names.
template <typename Enum>
inline constexpr int kNames = 0;

template <typename Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires {
  kNames<Enum>.names;
};

// The first name of `value` in the table; "unknown" without one.
template <typename Enum, typename Names>
constexpr std::string_view name_of(const Names& names, Enum value) {
  for (const EnumName<Enum>& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}
template <NamedEnum Enum>
constexpr std::string_view to_string(Enum value) {
  return name_of(kNames<Enum>.names, value);
}

// The names in the order of the table.
template <typename Names>
std::vector<std::string> names_in(const Names& names) {
  std::vector<std::string> all;
  for (const auto& entry : names) all.emplace_back(entry.name);
  return all;
}
template <NamedEnum Enum>
std::vector<std::string> names_of() {
  return names_in(kNames<Enum>.names);
}

// Throws Error(invalid_argument): "unknown tail 'cut'; expected one of drop and keep".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name,
                              std::vector<std::string> names);

// The value with this name; throws as refuse_name() without one.
template <NamedEnum Enum>
Enum from_name(std::string_view name) {
  for (const EnumName<Enum>& entry : kNames<Enum>.names) {
    if (entry.name == name) return entry.value;
  }
  refuse_name(kNames<Enum>.what, name, names_of<Enum>());
}

}  // namespace ffkit
