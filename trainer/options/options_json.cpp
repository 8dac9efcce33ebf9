#include "options/options_json.h"

#include <filesystem>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

std::string absolute_path(const std::filesystem::path& path) {
  return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
}

Json to_json(const Option& option, const OptionPart& part) {
  OptionValue value = part.get();
  if (!option.is_path) return std::visit([](const auto& v) { return Json(v); }, value);
  auto* words = std::get_if<std::vector<std::string>>(&value);
  if (words == nullptr) return absolute_path(std::get<std::string>(value));
  for (std::string& word : *words) word = absolute_path(word);
  return *words;
}

// Throws Json::exception for a value of another type.
OptionValue value_like(const Option& option, const OptionValue& old, const Json& json) {
  if (option.is_repeated) {
    if (json.is_array()) return json.get<std::vector<std::string>>();
    return json.get<std::string>();
  }
  return std::visit(
      [&](const auto& v) { return OptionValue(json.get<std::decay_t<decltype(v)>>()); }, old);
}

}  // namespace

std::string options_to_json(const TrainOptions& options) {
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  Json json = Json::object();
  for (const Option* option : stored_options(tables.general, tables.task)) {
    for (const OptionPart& part : option->parts) json[part.key] = to_json(*option, part);
  }
  return json_text(json);
}

bool have_same_values(const Option& a, const Option& b) {
  for (size_t i = 0; i < a.parts.size(); ++i) {
    if (to_json(a, a.parts[i]) != to_json(b, b.parts[i])) return false;
  }
  return true;
}

TrainOptions options_from_json(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw error_at(path, ErrorCode::corrupt,
                   "its options are not a JSON object; it was changed by hand");
  }
  TrainOptions options;
  if (json.contains("task") && json["task"].is_string())
    options.task = json["task"].get<std::string>();
  const OptionTables tables = option_tables(options);
  for (const OptionTable* table : {&tables.general, &tables.task}) {
    for (const Option& option : table->options()) {
      for (const OptionPart& part : option.parts) {
        // The run had the default.
        if (!json.contains(part.key)) continue;
        try {
          part.set(value_like(option, part.get(), json.at(part.key)));
        } catch (const Json::exception&) {
          throw error_at(path, ErrorCode::corrupt,
                         std::string("option '") + part.key +
                             "' is of another type; the checkpoint "
                             "was written by another version of fftrain or changed by hand");
        }
      }
    }
  }
  return options;
}

}  // namespace ffkit
