#include "checkpoint/options_file.h"

#include <fmt/format.h>

#include <span>

#include <nlohmann/json.hpp>

#include "files/durable_file.h"
#include "options/options_json.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const std::string& name, const Json& value) {
  if (!value.is_string()) return fmt::format("{} = {}\n", name, value.dump());
  const auto text = value.get<std::string>();
  if (text.empty()) return "";  // the default of every option that is a text
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  const bool is_readable =
      text.find_first_of("#\n\r") == std::string::npos && text.find(quote) == std::string::npos;
  if (!is_readable) return fmt::format("# {}: give it by --{}\n", name, name);
  return fmt::format("{} = {}{}{}\n", name, quote, text, quote);
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
  write_durably(path, [&](File& file) { file.write(std::as_bytes(std::span(text))); });
}

}  // namespace ffkit
