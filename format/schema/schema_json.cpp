#include "schema/schema_json.h"

namespace ffkit {

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
    field.type = parse_field_type(item.at("type").get<std::string>());
    if (field.type == FieldType::list) {
      field.item = parse_field_type(item.at("item").get<std::string>());
    }
    if (has_dtype(field)) field.dtype = parse_dtype(item.at("dtype").get<std::string>());
    field.column = item.value("column", false);
    schema.fields.push_back(std::move(field));
  }
  validate(schema);
  return schema;
}

}  // namespace ffkit
