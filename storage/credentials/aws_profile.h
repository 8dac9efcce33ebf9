// Files of ~/.aws: sections of names and values, and the profiles that they make, as the AWS CLI
// reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "credentials/surroundings.h"

namespace ffkit {

// Values by name; "s3.addressing_style" of a value that is indented below "s3 =".
using IniSection = std::map<std::string, std::string, std::less<>>;
// Sections by what stands between brackets: "profile dev".
using IniFile = std::map<std::string, IniSection, std::less<>>;

// What is no section, no value and no comment is passed over, as the AWS CLI does. Of a name that
// is there twice the last counts.
IniFile parse_ini(std::string_view text);

// Profiles of ~/.aws/config and ~/.aws/credentials.
class AwsProfiles {
 public:
  // Reads both files, where they are there: AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE say
  // where. Throws as File does.
  explicit AwsProfiles(const Surroundings& surroundings);

  // The profile that AWS_PROFILE names, or "default".
  const std::string& chosen() const { return chosen_; }
  // Whether AWS_PROFILE (or AWS_DEFAULT_PROFILE) names it.
  bool is_chosen_by_name() const { return is_chosen_by_name_; }
  // The values of a profile in both files, those of the credentials file first; null without it.
  const IniSection* find(std::string_view profile) const;
  const IniSection* session(std::string_view name) const;   // [sso-session NAME]
  const IniSection* services(std::string_view name) const;  // [services NAME]
  // Both files, for messages.
  std::string files() const;

 private:
  std::filesystem::path config_path_;
  std::filesystem::path credentials_path_;
  std::string chosen_;
  bool is_chosen_by_name_ = false;
  IniFile profiles_;
  IniFile others_;
};

// The value of `name`; empty without it.
std::string value_of(const IniSection& section, std::string_view name);

// The region that environment or profile name; empty where none does. Throws
// Error(invalid_argument) for what is no name of one.
std::string configured_region(const Surroundings& surroundings, const AwsProfiles& profiles);

// The endpoint of a service that is not AWS's own: AWS_ENDPOINT_URL_S3 for "S3", AWS_ENDPOINT_URL,
// or the profile's; empty without one.
std::string configured_endpoint(const Surroundings& surroundings, const AwsProfiles& profiles,
                                const std::string& service);

// Whether the variable, or else the profile's member, says yes.
bool is_configured(const Surroundings& surroundings, const AwsProfiles& profiles,
                   const std::string& variable, const std::string& member);

// The option ca_bundle, or the profile's; empty without one, and if AWS_CA_BUNDLE is set, which
// counts for every store (http/curl_library.h).
std::string configured_ca_file(const Surroundings& surroundings, const AwsProfiles& profiles);

// "amazonaws.com", or what the regions of China, of governments and of Europe's own cloud have.
std::string aws_domain(std::string_view region);

}  // namespace ffkit
