#include <fmt/format.h>

#include <array>
#include <set>

#include <ffkit/format/schema.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "schema/schema_json.h"

namespace ffkit {
namespace {

constexpr std::array<size_t, 12> kDTypeSizes = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

// A name in a file that this version does not know is one of a newer version.
template <NamedEnum Enum>
Enum stored_name(const nlohmann::json& name) {
  try {
    return from_name<Enum>(name.get<std::string>());
  } catch (const Error& error) {
    throw Error(ErrorCode::unsupported, error.message());
  }
}

}  // namespace

size_t size_of(DType dtype) {
  return kDTypeSizes[static_cast<size_t>(dtype)];
}

bool has_dtype(const Field& field) {
  const FieldType type = field.type == FieldType::list ? field.item : field.type;
  return type == FieldType::scalar || type == FieldType::tensor;
}

std::string describe(const Field& field) {
  std::string text = fmt::format("'{}' {}", field.name, to_string(field.type));
  if (field.type == FieldType::list) text += fmt::format(" of {}", to_string(field.item));
  if (has_dtype(field)) text += fmt::format(" {}", to_string(field.dtype));
  return text + (field.column ? " with column" : "");
}

int Schema::index_of(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

size_t Schema::require(std::string_view name) const {
  const int index = index_of(name);
  if (index >= 0) return static_cast<size_t>(index);
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  throw Error(
      ErrorCode::not_found,
      fmt::format("there is no field '{}'; the fields are {}", name, fmt::join(names, ", ")),
      {.subject = ErrorSubject::field, .name = std::string(name)});
}

std::string Schema::difference(const Schema& other) const {
  for (size_t i = 0; i < std::max(fields.size(), other.fields.size()); ++i) {
    const std::string a = i < fields.size() ? describe(fields[i]) : "missing";
    const std::string b = i < other.fields.size() ? describe(other.fields[i]) : "missing";
    if (a != b) return fmt::format("field {} is {} in one schema and {} in the other", i, a, b);
  }
  return "";
}

void validate(const Schema& schema) {
  if (schema.fields.empty())
    throw Error(ErrorCode::invalid_argument, "a schema needs at least one field");
  std::set<std::string_view> seen;
  for (const Field& field : schema.fields) {
    if (field.name.empty()) {
      throw Error(ErrorCode::invalid_argument, "a field of the schema has no name");
    }
    if (!is_utf8(field.name)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the field '{}' of the schema has a name that is not UTF-8",
                              printable(field.name)),
                  {.subject = ErrorSubject::field,
                   .name = field.name,
                   .remedy = "give it a name in UTF-8"});
    }
    if (!seen.insert(field.name).second) {
      throw error_of(ErrorCode::invalid_argument, "two fields of the schema are called '{}'",
                     field.name);
    }
    if (field.type == FieldType::list &&
        (field.item == FieldType::scalar || field.item == FieldType::list)) {
      throw error_of(
          ErrorCode::invalid_argument,
          "field '{}' cannot be a list of {}; use a tensor for numbers, and do not nest lists",
          field.name, to_string(field.item));
    }
    if (field.column && field.type != FieldType::scalar && field.type != FieldType::string) {
      throw error_of(ErrorCode::invalid_argument,
                     "field '{}' cannot be a column; use a scalar or a string", field.name);
    }
  }
}

Schema image_classification_schema() {
  return Schema{{
      {.name = "image", .type = FieldType::image},
      {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
      {.name = "id", .type = FieldType::string, .column = true},
  }};
}

nlohmann::ordered_json schema_to_json(const Schema& schema) {
  auto fields = nlohmann::ordered_json::array();
  for (const Field& field : schema.fields) {
    nlohmann::ordered_json json = {{"name", field.name}, {"type", to_string(field.type)}};
    if (field.type == FieldType::list) json["item"] = to_string(field.item);
    if (has_dtype(field)) json["dtype"] = to_string(field.dtype);
    if (field.column) json["column"] = true;
    fields.push_back(std::move(json));
  }
  return {{"fields", std::move(fields)}};
}

Schema schema_from_json(const nlohmann::json& json) {
  Schema schema;
  for (const auto& item : json.at("fields")) {
    Field field;
    field.name = item.at("name").get<std::string>();
    field.type = stored_name<FieldType>(item.at("type"));
    if (field.type == FieldType::list) field.item = stored_name<FieldType>(item.at("item"));
    if (has_dtype(field)) field.dtype = stored_name<DType>(item.at("dtype"));
    field.column = item.value("column", false);
    schema.fields.push_back(std::move(field));
  }
  validate(schema);
  return schema;
}

}  // namespace ffkit
