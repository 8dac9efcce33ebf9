#include "forms/json_array.h"

#include <nlohmann/json.hpp>

#include "base/make_error.h"

namespace ffkit {

std::string json_array_of(const Field& field, const ListView& list) {
  nlohmann::json texts = nlohmann::json::array();
  for (size_t i = 0; i < list.size(); ++i) texts.push_back(list.string(i));
  try {
    return texts.dump();
  } catch (const nlohmann::json::type_error&) {
    throw error_of(
        ErrorCode::unsupported,
        "field '{}' has an item that is no UTF-8 text, which JSON cannot hold; leave the "
        "field out with --fields",
        field.name);
  }
}

}  // namespace ffkit
