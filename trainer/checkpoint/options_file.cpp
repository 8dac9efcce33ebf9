#include "checkpoint/options_file.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "files/durable_file.h"
#include "options/options_json.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

// Options that are several members: on the command line one option with several values.
struct Combined {
  std::string_view name;
  std::vector<std::string> members;  // the first one stands for all
};

const std::array<Combined, 4>& combined_options() {
  static const std::array<Combined, 4> list = {
      {{"crop-scale", {"crop_scale_min", "crop_scale_max"}},
       {"progressive-epochs", {"progressive_from", "progressive_to"}},
       {"color-jitter",
        {"jitter_brightness", "jitter_contrast", "jitter_saturation", "jitter_hue"}},
       {"adam-betas", {"adam_beta1", "adam_beta2"}}}};
  return list;
}

const Combined* find_combined(const std::string& member, bool& is_first) {
  for (const Combined& c : combined_options()) {
    for (const std::string& m : c.members) {
      if (m != member) continue;
      is_first = m == c.members.front();
      return &c;
    }
  }
  return nullptr;
}

std::string option_name(std::string member) {
  for (char& c : member) {
    if (c == '_') c = '-';
  }
  return member;
}

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
  std::string out = "# The options of a run of fftrain; start one like it with --config FILE.\n";
  for (const auto& item : json.items()) {
    bool is_first = false;
    const Combined* combined = find_combined(item.key(), is_first);
    if (combined == nullptr) {
      out += line_of(option_name(item.key()), item.value());
    } else if (is_first) {
      Json values = Json::array();
      for (const std::string& member : combined->members) values.push_back(json.at(member));
      out += line_of(std::string(combined->name), values);
    }
  }
  return out;
}

void write_options_file(const std::filesystem::path& path, const TrainOptions& options) {
  const std::string text = options_to_toml(options);
  write_durably(path, [&](File& file) { file.write(std::as_bytes(std::span(text))); });
}

}  // namespace ffkit
