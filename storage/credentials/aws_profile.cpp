#include "credentials/aws_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace ffkit {
namespace {

std::string_view without_spaces(std::string_view text) {
  const std::string_view spaces = " \t\r\f\v";
  const size_t begin = std::min(text.find_first_not_of(spaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(spaces) + 1);
}

// A comment begins a line, or stands behind a space.
std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_mark = line[i] == '#' || line[i] == ';';
    if (is_mark && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  }
  return line;
}

std::string one_space_between(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) result += c;
    if (is_space && !result.empty() && result.back() != ' ') result += ' ';
  }
  return result;
}

std::string unquoted(std::string name) {
  std::erase(name, '"');
  std::erase(name, '\'');
  return name;
}

std::filesystem::path file_of(const Surroundings& surroundings, const std::string& variable,
                              const char* name) {
  const std::string given = surroundings.variable(variable);
  if (given.empty()) return surroundings.home / ".aws" / name;
  return given.starts_with("~/") ? surroundings.home / given.substr(2)
                                 : std::filesystem::path(given);
}

const IniSection* section_of(const IniFile& file, const std::string& name) {
  const auto found = file.find(name);
  return found == file.end() ? nullptr : &found->second;
}

}  // namespace

IniFile parse_ini(std::string_view text) {
  IniFile file;
  IniSection* section = nullptr;
  std::string parent;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::string_view line = without_spaces(without_comment(whole));
    if (line.empty()) continue;
    if (line.starts_with('[')) {
      const std::string_view name = line.substr(1, line.find(']') - 1);
      section = &file[unquoted(one_space_between(without_spaces(name)))];
      parent.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name(without_spaces(line.substr(0, equals)));
    const std::string value(without_spaces(line.substr(equals + 1)));
    const bool is_indented = whole.front() == ' ' || whole.front() == '\t';
    if (is_indented && !parent.empty()) {
      section->insert_or_assign(std::string(parent).append(".").append(name), value);
    } else {
      section->insert_or_assign(name, value);
      parent = value.empty() ? name : "";
    }
  }
  return file;
}

AwsProfiles::AwsProfiles(const Surroundings& surroundings)
    : config_path_(file_of(surroundings, "AWS_CONFIG_FILE", "config")),
      credentials_path_(file_of(surroundings, "AWS_SHARED_CREDENTIALS_FILE", "credentials")) {
  chosen_ = surroundings.variable("AWS_PROFILE");
  if (chosen_.empty()) chosen_ = surroundings.variable("AWS_DEFAULT_PROFILE");
  is_chosen_by_name_ = !chosen_.empty();
  if (chosen_.empty()) chosen_ = "default";
  for (auto& [name, section] : parse_ini(text_if_there(config_path_).value_or(""))) {
    if (name == "default" || name.starts_with("profile ")) {
      profiles_[name == "default" ? name : name.substr(8)].merge(section);
    } else {
      others_[name] = std::move(section);
    }
  }
  for (const auto& [name, section] : parse_ini(text_if_there(credentials_path_).value_or(""))) {
    for (const auto& [key, value] : section) profiles_[name].insert_or_assign(key, value);
  }
}

const IniSection* AwsProfiles::find(std::string_view profile) const {
  return section_of(profiles_, std::string(profile));
}

const IniSection* AwsProfiles::session(std::string_view name) const {
  return section_of(others_, fmt::format("sso-session {}", name));
}

const IniSection* AwsProfiles::services(std::string_view name) const {
  return section_of(others_, fmt::format("services {}", name));
}

std::string AwsProfiles::files() const {
  return fmt::format("{} and {}", config_path_.string(), credentials_path_.string());
}

std::string value_of(const IniSection& section, std::string_view name) {
  const auto found = section.find(name);
  return found == section.end() ? std::string() : found->second;
}

std::string configured_region(const Surroundings& surroundings, const AwsProfiles& profiles) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = surroundings.variable(name); !region.empty()) return region;
  }
  const IniSection* profile = profiles.find(profiles.chosen());
  return profile == nullptr ? std::string() : value_of(*profile, "region");
}

std::string configured_endpoint(const Surroundings& surroundings, const AwsProfiles& profiles,
                                const std::string& service) {
  if (surroundings.is_on("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return {};
  for (const std::string& name : {"AWS_ENDPOINT_URL_" + service, std::string("AWS_ENDPOINT_URL")}) {
    if (std::string url = surroundings.variable(name); !url.empty()) return url;
  }
  const IniSection* profile = profiles.find(profiles.chosen());
  if (profile == nullptr) return {};
  if (const IniSection* services = profiles.services(value_of(*profile, "services"))) {
    std::string member = service;
    std::ranges::transform(member, member.begin(), lower_letter);
    if (std::string url = value_of(*services, member + ".endpoint_url"); !url.empty()) return url;
  }
  return value_of(*profile, "endpoint_url");
}

std::string aws_domain(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

}  // namespace ffkit
