// Members of a tokenizer.json, and the refusal of those that are not known.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include <nlohmann/json.hpp>

namespace ffkit::text {

// Null where there is none.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
// Whether it is null, false, "" or 0.
bool is_off(const nlohmann::json& value);
// Throws Error(unsupported): the file has `what`.
[[noreturn]] void refuse_kind(const std::filesystem::path& path, const std::string& what);
// Refuses a member of `object` that is none of `names` and not off. `place`: "the model".
void require_known(const nlohmann::json& object, std::initializer_list<const char*> names,
                   const std::string& place, const std::filesystem::path& path);

}  // namespace ffkit::text
