// The JSON form of a schema (FORMAT.md, "Schema"), shared by catalogs and manifests.
#pragma once

#include <nlohmann/json.hpp>

#include <ffkit/format/schema.h>

namespace ffkit {

nlohmann::ordered_json schema_to_json(const Schema& schema);
// Throws Error(unsupported) for types not known here, Error(invalid_argument) or a nlohmann
// exception for nonsense.
Schema schema_from_json(const nlohmann::json& json);

}  // namespace ffkit
