#include "persons/person_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "converter/input/source_error.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_member(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

void append_all_numbers(simdjson::dom::element value, std::vector<double>& out) {
  simdjson::dom::array array;
  if (value.get_array().get(array) == simdjson::SUCCESS) {
    for (const simdjson::dom::element item : array) append_all_numbers(item, out);
    return;
  }
  bool truth = false;
  if (value.get_bool().get(truth) == simdjson::SUCCESS) {
    out.push_back(truth ? 1 : 0);
    return;
  }
  out.push_back(json_number<double>(value));
}

}  // namespace

PersonJson::PersonJson(simdjson::dom::element value) {
  if (value.get_object().get(object_) != simdjson::SUCCESS) refuse_member("is no object");
}

bool PersonJson::has(std::string_view name) const {
  simdjson::dom::element value;
  return find_member(object_, name, value);
}

simdjson::dom::element PersonJson::at(std::string_view name) const {
  simdjson::dom::element value;
  if (!find_member(object_, name, value)) {
    refuse_member(fmt::format("has no '{}'", name));
  }
  return value;
}

int64_t PersonJson::integer(std::string_view name) const {
  const simdjson::dom::element found = at(name);
  try {
    return json_whole_number(found);
  } catch (const Error& error) {
    refuse_member(fmt::format("'{}': {}", name, error.what()));
  }
}

std::string PersonJson::text(std::string_view name) const {
  std::string_view value;
  if (at(name).get_string().get(value) != simdjson::SUCCESS) {
    refuse_member(fmt::format("'{}' is no text", name));
  }
  return std::string(value);
}

bool PersonJson::is_true(std::string_view name) const {
  return numbers(name, 1, "")[0] != 0;
}

PersonJson PersonJson::object(std::string_view name) const {
  simdjson::dom::object value;
  if (at(name).get_object().get(value) != simdjson::SUCCESS) {
    refuse_member(fmt::format("'{}' is no object", name));
  }
  return PersonJson(value);
}

std::vector<double> PersonJson::numbers(std::string_view name, size_t count,
                                        std::string_view what) const {
  std::vector<double> out;
  const simdjson::dom::element found = at(name);
  try {
    append_all_numbers(found, out);
  } catch (const Error& error) {
    refuse_member(fmt::format("'{}': {}", name, error.what()));
  }
  if (out.size() != count) {
    refuse_member(fmt::format("'{}' has {} numbers, expected {}{}{}", name, out.size(), count,
                              what.empty() ? "" : " ", what));
  }
  for (const double value : out) {
    if (!std::isfinite(value)) refuse_member(fmt::format("'{}' holds what is not finite", name));
  }
  return out;
}

pose::Box PersonJson::box() const {
  const std::vector<double> n = numbers("bbox", 4, "");
  return {n[0], n[1], n[2], n[3]};
}

void read_annotations(const InputFile& file, const AddPersonJson& add_picture,
                      const AddPersonJson& add_person) {
  const auto table = [&file](std::string_view name, std::string_view noun,
                             const AddPersonJson& add) {
    const auto begin = [&file, name, is_there = false]() mutable {
      if (is_there) {
        throw source_error(file.path(), ErrorCode::invalid_argument,
                           "has '{}' twice, of which Python would take the last; remove one", name);
      }
      is_there = true;
    };
    return JsonTable{name, noun, begin, [&add](simdjson::dom::object object, FileRange) {
                       const PersonJson json(object);
                       add(json, json.integer("id"));
                     }};
  };
  const std::array tables = {table("images", "picture", add_picture),
                             table("annotations", "annotation", add_person)};
  std::vector<std::string> notes;  // on what is there twice, which is refused here
  read_json_tables(file, tables, notes);
}

SourceInput person_input(const InputFile& file) {
  return {
      .name = file.path().filename().string(), .num_bytes = file.size(), .crc32c = crc32c_of(file)};
}

simdjson::simdjson_result<simdjson::dom::element> load_json(simdjson::dom::parser& parser,
                                                            const std::filesystem::path& path) {
  constexpr int64_t kMaxBytes = int64_t{4} << 30;  // simdjson's own
  if (!is_address(path)) return parser.load(path.string());
  return parser.parse(read_source_text(path, kMaxBytes));
}

}  // namespace ffkit
