#include "checkpoint/options_file.h"

#include <fmt/format.h>

#include <optional>

#include <nlohmann/json.hpp>

#include "base/file/durable_file.h"
#include "options/options_json.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

// Nothing where CLI11's reader could not take it back.
std::optional<std::string> quoted(const std::string& text) {
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  if (text.find_first_of("#\n\r") != std::string::npos || text.find(quote) != std::string::npos)
    return std::nullopt;
  return fmt::format("{}{}{}", quote, text, quote);
}

// As quoted(), of one text or a list of several; the empty text of an option that is not set.
std::optional<std::string> text_value(const Json& value) {
  if (!value.is_array()) return quoted(value.get<std::string>());
  std::string out;
  for (const Json& item : value) {
    const std::optional<std::string> one = quoted(item.get<std::string>());
    if (!one) return std::nullopt;
    out += (out.empty() ? "[" : ", ") + *one;
  }
  return out + "]";
}

std::string line_of(const std::string& name, const Json& value) {
  const bool is_text = value.is_string() || (value.is_array() && value.front().is_string());
  if (!is_text) return fmt::format("{} = {}\n", name, value.dump());
  if (value == "") return "";  // the default of every option that is a text
  const std::optional<std::string> text = text_value(value);
  if (!text) return fmt::format("# {}: give it by --{}\n", name, name);
  return fmt::format("{} = {}\n", name, *text);
}

}  // namespace

std::string options_to_toml(const TrainOptions& options) {
  const Json json = Json::parse(options_to_json(options));
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  std::string out = "# The options of a run of fftrain; start one like it with --config FILE.\n";
  for (const Option* option : stored_options(tables.general, tables.task)) {
    Json values = Json::array();
    for (const OptionPart& part : option->parts) values.push_back(json.at(part.key));
    out += line_of(option->name, values.size() == 1 ? values.front() : values);
  }
  return out;
}

void write_options_file(const std::filesystem::path& path, const TrainOptions& options) {
  const std::string text = options_to_toml(options);
  write_durably(path, text);
}

}  // namespace ffkit
