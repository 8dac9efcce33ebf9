#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "convert/sample_values.h"
#include "values.h"

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
  throw type_error_of("{} is {}, expected {}", option.key(), repr_of(value), type_of(option));
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
      throw type_error_of("there is no option '{}'; expected one of {}", name,
                          fmt::join(names, ", "));
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

nb::dict to_python(const SplitSummary& split) {
  nb::dict dict;
  dict["split"] = split.split;
  dict["num_records"] = split.num_records;
  dict["num_skipped"] = split.num_skipped;
  dict["num_shards"] = split.num_shards;
  dict["file_bytes"] = split.file_bytes;
  dict["fingerprint"] = split.fingerprint;
  nb::dict totals;
  for (const auto& [column, total] : split.totals) totals[column.c_str()] = total;
  dict["totals"] = totals;
  return dict;
}

nb::dict to_python(const ConvertSummary& summary) {
  nb::list splits;
  for (const SplitSummary& split : summary.splits) splits.append(to_python(split));
  nb::dict dict;
  dict["splits"] = splits;
  dict["num_classes"] = summary.num_classes;
  dict["num_reported"] = summary.num_reported;
  dict["without_dct"] = summary.without_dct;
  dict["remarks"] = summary.remarks;
  dict["headers_only"] = summary.headers_only;
  nb::dict reported;
  for (const auto& [action, lines] : summary.reported) reported[action.c_str()] = lines.count;
  dict["reported"] = reported;
  dict["seconds"] = summary.seconds;
  dict["was_finished"] = summary.was_finished;
  dict["num_parts"] = summary.num_parts;
  dict["num_finished_parts"] = summary.num_finished_parts;
  nb::list merged;
  for (const SplitSummary& split : summary.merged) merged.append(to_python(split));
  dict["merged"] = merged;
  return dict;
}

nb::dict to_python(const ConvertEstimate& estimate) {
  nb::list splits;
  for (const SplitEstimate& split : estimate.splits) {
    nb::dict dict;
    dict["split"] = split.split;
    dict["num_samples"] = split.num_samples;
    dict["num_shards"] = split.num_shards;
    dict["file_bytes"] = split.file_bytes;
    splits.append(dict);
  }
  nb::dict dict;
  dict["splits"] = splits;
  dict["seconds"] = estimate.seconds;
  return dict;
}

}  // namespace ffkit::python
