#include "credentials/aws_credentials.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_profile(const std::string& profile, const std::string& why,
                                 const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, fmt::format("profile '{}' {}", printable(profile), why),
              {.subject = ErrorSubject::argument, .remedy = remedy});
}

// Keys of one profile after another: a role may be taken on by the role of a third profile.
class ProfileChain {
 public:
  ProfileChain(const Surroundings& surroundings, const AwsProfiles& profiles)
      : surroundings_(surroundings), profiles_(profiles) {}

  std::optional<AwsCredentials> credentials(const std::string& profile) {
    const IniSection* section = profiles_.find(profile);
    if (section == nullptr) {
      refuse_profile(profile, "is not in " + profiles_.files(), "check its name");
    }
    const bool is_source = !seen_.empty();
    const bool is_again = !seen_.insert(profile).second;
    // As botocore has it: a source's own keys go before its role.
    const bool has_keys = of_keys(profile, *section).has_value();
    const bool takes_role = !value_of(*section, "role_arn").empty() && !(is_source && has_keys);
    if (takes_role && !is_again) return of_role(profile, *section);
    if (!value_of(*section, "sso_account_id").empty() ||
        !value_of(*section, "sso_session").empty()) {
      return sso_credentials(surroundings_, profiles_, profile);
    }
    if (auto found = of_keys(profile, *section)) return found;
    if (is_again)
      refuse_profile(profile, "names itself as its source_profile, but has no keys",
                     "add aws_access_key_id and aws_secret_access_key to the profile");
    const std::string command = value_of(*section, "credential_process");
    if (command.empty()) return std::nullopt;
    const std::string what = fmt::format("credential_process of profile '{}'", profile);
    std::string output;
    try {
      output = surroundings_.run(command);
    } catch (const Error& e) {
      // Without the command: its arguments may be secrets.
      throw e.with_message(fmt::format("{}: {}", what, e.message()));
    }
    AwsCredentials found = credentials_in_json(output, what, "SessionToken");
    found.source = what;
    return found;
  }

 private:
  static std::optional<AwsCredentials> of_keys(const std::string& profile,
                                               const IniSection& section) {
    SigningKeys keys{value_of(section, "aws_access_key_id"),
                     value_of(section, "aws_secret_access_key"),
                     value_of(section, "aws_session_token")};
    if (keys.id.empty() || keys.secret.empty()) return std::nullopt;
    return AwsCredentials{std::move(keys), std::nullopt, fmt::format("profile '{}'", profile)};
  }

  AwsCredentials of_role(const std::string& profile, const IniSection& section) {
    const Role role{value_of(section, "role_arn"), value_of(section, "role_session_name"),
                    value_of(section, "external_id"), value_of(section, "duration_seconds")};
    if (!value_of(section, "mfa_serial").empty()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("profile '{}' needs the code of an MFA device (mfa_serial)", profile),
                  {.subject = ErrorSubject::argument,
                   .remedy = "assume the role with the AWS CLI and export the keys of the role"});
    }
    const std::string token_file = value_of(section, "web_identity_token_file");
    if (!token_file.empty()) {
      return assume_role_by_web_identity(surroundings_, profiles_, role, token_file);
    }
    const std::string source_profile = value_of(section, "source_profile");
    const std::string source = value_of(section, "credential_source");
    std::optional<AwsCredentials> base;
    Looked looked;
    if (!source_profile.empty()) {
      base = source_profile == profile ? of_keys(profile, section) : credentials(source_profile);
    } else if (source == "Environment") {
      base = environment_credentials(surroundings_, looked);
    } else if (source == "EcsContainer") {
      base = container_credentials(surroundings_, looked);
    } else if (source == "Ec2InstanceMetadata") {
      base = instance_credentials(surroundings_, looked);
    } else {
      refuse_profile(
          profile, "has a role_arn, but has no credentials to assume this role",
          "add source_profile, credential_source or web_identity_token_file to the profile");
    }
    if (!base) {
      refuse_profile(profile,
                     fmt::format("has role_arn, but its source '{}' has no keys",
                                 source_profile.empty() ? source : source_profile),
                     "check the source");
    }
    return assume_role(surroundings_, profiles_, role, base->keys);
  }

  const Surroundings& surroundings_;
  const AwsProfiles& profiles_;
  std::set<std::string> seen_;
};

}  // namespace

AwsCredentials credentials_in_json(const std::string& json, const std::string& what,
                                   const std::string& token_name) {
  const JsonAnswer answer(json);
  AwsCredentials found{
      {answer.text("AccessKeyId"), answer.text("SecretAccessKey"), answer.text(token_name)},
      moment_of(answer.text("Expiration")),
      what};
  if (found.keys.id.empty() || found.keys.secret.empty()) {
    throw Error(
        ErrorCode::invalid_argument, what + " gave no JSON with AccessKeyId and SecretAccessKey",
        {.subject = ErrorSubject::argument, .remedy = "run it by hand and check its output"});
  }
  return found;
}

std::optional<AwsCredentials> environment_credentials(const Surroundings& surroundings,
                                                      Looked& looked) {
  SigningKeys keys{surroundings.variable("AWS_ACCESS_KEY_ID"),
                   surroundings.variable("AWS_SECRET_ACCESS_KEY"),
                   surroundings.variable("AWS_SESSION_TOKEN")};
  if (keys.token.empty()) keys.token = surroundings.variable("AWS_SECURITY_TOKEN");
  if (keys.id.empty()) {
    looked.emplace_back("the environment has no AWS_ACCESS_KEY_ID");
    return std::nullopt;
  }
  if (keys.secret.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "the environment has AWS_ACCESS_KEY_ID, but no AWS_SECRET_ACCESS_KEY",
                {.subject = ErrorSubject::argument,
                 .name = {},
                 .remedy = "set both variables or neither variable"});
  }
  return AwsCredentials{std::move(keys), std::nullopt, surroundings.giver};
}

std::optional<AwsCredentials> web_identity_credentials(const Surroundings& surroundings,
                                                       const AwsProfiles& profiles,
                                                       Looked& looked) {
  // The environment first, and then the profile, value by value.
  const IniSection* section = profiles.find(profiles.chosen());
  const auto value = [&](const char* variable, const char* name) {
    std::string found = surroundings.variable(variable);
    if (found.empty() && section != nullptr) found = value_of(*section, name);
    return found;
  };
  const std::string file = value("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
  const Role role{value("AWS_ROLE_ARN", "role_arn"),
                  value("AWS_ROLE_SESSION_NAME", "role_session_name"), "", ""};
  if (file.empty()) {
    looked.emplace_back("AWS_WEB_IDENTITY_TOKEN_FILE is not set");
    return std::nullopt;
  }
  if (role.arn.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "this file is set as the token file of a web identity, but AWS_ROLE_ARN is not set",
                {.path = file, .subject = ErrorSubject::argument, .remedy = "set AWS_ROLE_ARN"});
  }
  return assume_role_by_web_identity(surroundings, profiles, role, file);
}

// Whether the profile takes on a role by other keys. That goes before a web identity, so that a pod
// with one can be somebody else by AWS_PROFILE.
bool has_role_by_keys(const AwsProfiles& profiles) {
  const IniSection* section = profiles.find(profiles.chosen());
  return section != nullptr && !value_of(*section, "role_arn").empty() &&
         value_of(*section, "web_identity_token_file").empty();
}

std::optional<AwsCredentials> profile_credentials(const Surroundings& surroundings,
                                                  const AwsProfiles& profiles,
                                                  const std::string& profile, Looked& looked) {
  if (profiles.find(profile) == nullptr && !profiles.is_chosen_by_name()) {
    looked.push_back(fmt::format("profile '{}' is not in {}", profile, profiles.files()));
    return std::nullopt;
  }
  auto found = ProfileChain(surroundings, profiles).credentials(profile);
  if (!found) {
    looked.push_back(fmt::format("profile '{}' of {} has no keys/role/credential_process/sso",
                                 profile, profiles.files()));
  }
  return found;
}

AwsCredentials find_aws_credentials(const Surroundings& surroundings) {
  Looked looked;
  if (auto found = environment_credentials(surroundings, looked)) return std::move(*found);
  const AwsProfiles profiles(surroundings);
  if (!has_role_by_keys(profiles)) {
    if (auto found = web_identity_credentials(surroundings, profiles, looked)) {
      return std::move(*found);
    }
  }
  if (auto found = profile_credentials(surroundings, profiles, profiles.chosen(), looked)) {
    return std::move(*found);
  }
  if (auto found = container_credentials(surroundings, looked)) return std::move(*found);
  if (auto found = instance_credentials(surroundings, looked)) return std::move(*found);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("has no AWS credentials: {}", fmt::join(looked, ", ")),
              {.subject = ErrorSubject::argument,
               .remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set AWS_PROFILE, or "
                         "set AWS_NO_SIGN_REQUEST=YES for a public bucket"});
}

}  // namespace ffkit
