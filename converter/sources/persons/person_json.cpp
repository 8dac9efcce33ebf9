#include "sources/persons/person_json.h"

#include <fmt/format.h>

#include <cmath>

#include <ffkit/format/error.h>

#include "sources/numbers/json_elements.h"
#include "sources/numbers/json_numbers.h"

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

bool PersonJson::has(std::string_view name) const {
  simdjson::dom::element value;
  return object_.at_key(name).get(value) == simdjson::SUCCESS && !value.is_null();
}

simdjson::dom::element PersonJson::at(std::string_view name) const {
  simdjson::dom::element value;
  if (object_.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) {
    refuse_member(fmt::format("has no '{}'", name));
  }
  return value;
}

int64_t PersonJson::integer(std::string_view name) const {
  const simdjson::dom::element found = at(name);
  try {
    return json_number<int64_t>(found);
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
  JsonElements elements(file);
  simdjson::dom::parser parser;
  while (elements.next()) {
    const bool is_picture = elements.key() == "images";
    if (!is_picture && elements.key() != "annotations") continue;
    std::string who = "an element of '" + elements.key() + "'";
    try {
      simdjson::dom::object object;
      const auto error = parser.parse(elements.text().data(), elements.text().size(), false)
                             .get_object()
                             .get(object);
      if (error != simdjson::SUCCESS) {
        throw Error(ErrorCode::corrupt,
                    fmt::format("is no JSON object: {}", simdjson::error_message(error)));
      }
      const PersonJson json(object);
      const int64_t id = json.integer("id");
      who = fmt::format("{} {}", is_picture ? "picture" : "annotation", id);
      (is_picture ? add_picture : add_person)(json, id);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{} {}", who, error.what()),
                  {.path = file.path().string(), .offset = elements.range().offset});
    }
  }
}

SourceInput person_input(const InputFile& file) {
  return {
      .name = file.path().filename().string(), .num_bytes = file.size(), .crc32c = crc32c_of(file)};
}

}  // namespace ffkit
