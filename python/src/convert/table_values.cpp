#include "convert/table_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

namespace nb = nanobind;

namespace ffkit::python {
namespace {

// "size" is a number of bytes, also as text; "names" are several texts, "paths" one path or
// several; "mapping" has a text or a path for each name.
const char* type_of(const Option& option) {
  if (option.is_named) return "mapping";
  if (option.is_repeated) return "paths";
  if (option.is_list) return "names";
  if (option.is_size) return "size";
  if (option.is_path) return "path";
  const OptionValue value = option.parts.front().get();
  if (std::holds_alternative<bool>(value)) return "bool";
  if (std::holds_alternative<double>(value)) return "float";
  return std::holds_alternative<std::string>(value) ? "str" : "int";
}

template <typename T>
T cast(const Option& option, nb::handle value) {
  T result{};
  if (nb::try_cast<T>(value, result)) return result;
  throw nb::type_error(fmt::format("{} is {}, expected {}", option.key(),
                                   nb::cast<std::string>(nb::repr(value)), type_of(option))
                           .c_str());
}

std::vector<std::string> names_of(const Option& option, nb::handle value) {
  if (!nb::isinstance<nb::str>(value)) return cast<std::vector<std::string>>(option, value);
  std::vector<std::string> names;
  for (const nb::handle name : nb::list(value.attr("split")(","))) {
    names.push_back(nb::cast<std::string>(name));
  }
  return names;
}

std::string path_of(const Option& option, nb::handle value) {
  return cast<std::string>(option, nb::module_::import_("os").attr("fspath")(value));
}

// {"mask": folder} as "mask=folder".
std::vector<std::string> named_values_of(const Option& option, nb::handle value) {
  if (!nb::hasattr(value, "items")) (void)cast<nb::dict>(option, value);  // throws
  std::vector<std::string> words;
  for (const nb::handle item : nb::list(value.attr("items")())) {
    words.push_back(cast<std::string>(option, item[0]) + "=" + path_of(option, item[1]));
  }
  return words;
}

// One path, or several.
std::vector<std::string> paths_of(const Option& option, nb::handle value) {
  if (nb::isinstance<nb::str>(value) || nb::hasattr(value, "__fspath__")) {
    return {path_of(option, value)};
  }
  std::vector<std::string> paths;
  for (const nb::handle path : nb::list(value)) paths.push_back(path_of(option, path));
  return paths;
}

OptionValue value_of(const Option& option, nb::handle value) {
  if (option.is_named) return named_values_of(option, value);
  if (option.is_repeated) return paths_of(option, value);
  if (option.is_list) return names_of(option, value);
  if (option.is_path) return path_of(option, value);
  if (option.is_size) {
    return cast<int64_t>(
        option,
        nb::module_::import_("ffkit._convert_options").attr("num_bytes")(option.key(), value));
  }
  const OptionValue type = option.parts.front().get();
  if (std::holds_alternative<bool>(type)) return cast<bool>(option, value);
  if (std::holds_alternative<double>(type)) return cast<double>(option, value);
  if (std::holds_alternative<uint64_t>(type)) return cast<uint64_t>(option, value);
  if (std::holds_alternative<int64_t>(type)) return cast<int64_t>(option, value);
  return cast<std::string>(option, value);
}

bool is_empty(const OptionValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* names = std::get_if<std::vector<std::string>>(&value);
  return (text != nullptr && text->empty()) || (names != nullptr && names->empty());
}

nb::object default_of(const Option& option) {
  if (!option.default_words.empty() || option.is_list || option.is_repeated) return nb::none();
  if (option.is_size) return nb::cast(option.default_text());
  const OptionValue value = option.parts.front().get();
  return is_empty(value) ? nb::object(nb::none())
                         : std::visit([](const auto& v) { return nb::cast(v); }, value);
}

}  // namespace

void give(OptionTable& table, nb::dict given) {
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const auto found = std::ranges::find(table.options(), name, &Option::key);
    if (found == table.options().end()) {
      std::vector<std::string> names;
      for (const Option& option : table.options()) names.push_back(option.key());
      throw nb::type_error(
          fmt::format("there is no option '{}'; expected one of {}", name, fmt::join(names, ", "))
              .c_str());
    }
    const OptionValue as_option = value_of(*found, value);
    if (is_empty(as_option)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} is empty; leave it out for its default", option_name(name)),
                  {.subject = ErrorSubject::argument, .name = name});
    }
    found->give(as_option);
  }
}

nb::list to_python(const OptionTable& table) {
  nb::list all;
  for (const Option& option : table.options()) {
    nb::dict facts;
    facts["name"] = option.key();
    facts["group"] = with_option_names(option.group, OptionStyle::python);
    facts["help"] = with_option_names(option.help, OptionStyle::python);
    facts["type"] = type_of(option);
    facts["choices"] = option.choices;
    facts["range"] = option.range_text();
    facts["default"] = default_of(option);
    facts["default_text"] = option.default_text();
    facts["is_offered"] = option.is_offered;
    all.append(facts);
  }
  return all;
}

}  // namespace ffkit::python
