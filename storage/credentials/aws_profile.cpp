#include "credentials/aws_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace ffkit {
namespace {

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
    const std::string_view line = trimmed(without_comment(whole));
    if (line.empty()) continue;
    if (line.starts_with('[')) {
      const std::string_view name = line.substr(1, line.find(']') - 1);
      section = &file[unquoted(one_space_between(trimmed(name)))];
      parent.clear();
      continue;
    }
    const size_t equals = line.find_first_of("=:");
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name = in_lower_case(trimmed(line.substr(0, equals)));
    const std::string value(trimmed(line.substr(equals + 1)));
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
  std::string region;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (region.empty()) region = surroundings.variable(name);
  }
  const IniSection* profile = profiles.find(profiles.chosen());
  if (region.empty() && profile != nullptr) region = value_of(*profile, "region");
  const bool is_name = std::ranges::all_of(region, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  if (!is_name) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the region '{}' is not a valid region name", printable(region)),
                {.subject = ErrorSubject::argument,
                 .remedy = "check AWS_REGION, AWS_DEFAULT_REGION and the profile's region"});
  }
  return region;
}

bool is_configured(const Surroundings& surroundings, const AwsProfiles& profiles,
                   const std::string& variable, const std::string& member) {
  if (!surroundings.variable(variable).empty()) return surroundings.is_on(variable);
  const IniSection* profile = profiles.find(profiles.chosen());
  return profile != nullptr && value_of(*profile, member) == "true";
}

std::string configured_ca_file(const Surroundings& surroundings, const AwsProfiles& profiles) {
  if (std::string own = surroundings.variable("ca_bundle"); !own.empty()) return own;
  const IniSection* profile = profiles.find(profiles.chosen());
  if (profile == nullptr || !surroundings.variable("AWS_CA_BUNDLE").empty()) return {};
  return value_of(*profile, "ca_bundle");
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
    const std::string member = in_lower_case(service);
    if (std::string url = value_of(*services, member + ".endpoint_url"); !url.empty()) return url;
  }
  return value_of(*profile, "endpoint_url");
}

std::string aws_domain(std::string_view region) {
  // botocore/data/partitions.json
  constexpr std::pair<std::string_view, const char*> kDomains[] = {
      {"cn-", "amazonaws.com.cn"},    {"us-iso-", "c2s.ic.gov"},      {"us-isob-", "sc2s.sgov.gov"},
      {"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"}, {"eusc-", "amazonaws.eu"}};
  for (const auto& [start, domain] : kDomains) {
    if (region.starts_with(start)) return domain;
  }
  return "amazonaws.com";
}

}  // namespace ffkit
