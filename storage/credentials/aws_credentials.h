// Credentials of AWS, where the AWS CLI finds them:
//
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
//   2. AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN: pods of EKS with roles of service accounts
//   3. the profile AWS_PROFILE, or "default": role_arn by source_profile, credential_source or
//      web_identity_token_file; sso_session or sso_start_url; keys; credential_process
//   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: tasks of ECS, pod identities of EKS
//   5. the instance's metadata service (version 2), unless AWS_EC2_METADATA_DISABLED
//
// What is there and fails is an error; the next place is not asked then. Secrets are in no message.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "credentials/aws_profile.h"
#include "credentials/surroundings.h"
#include "signing/signature.h"

namespace ffkit {

struct AwsCredentials {
  SigningKeys keys;
  std::optional<Moment> expires = {};  // nothing: never
  std::string source = {};             // "the environment", for messages
};

// Throws Error(invalid_argument) where there are none, which says what was looked at.
AwsCredentials find_aws_credentials(const Surroundings& surroundings);

// The places of the chain. Each gives nothing where it is not set up, and adds to `looked` what it
// missed.
using Looked = std::vector<std::string>;
std::optional<AwsCredentials> environment_credentials(const Surroundings& surroundings,
                                                      Looked& looked);
std::optional<AwsCredentials> web_identity_credentials(const Surroundings& surroundings,
                                                       const AwsProfiles& profiles, Looked& looked);
std::optional<AwsCredentials> profile_credentials(const Surroundings& surroundings,
                                                  const AwsProfiles& profiles,
                                                  const std::string& profile, Looked& looked);
std::optional<AwsCredentials> container_credentials(const Surroundings& surroundings,
                                                    Looked& looked);
std::optional<AwsCredentials> instance_credentials(const Surroundings& surroundings,
                                                   Looked& looked);
// Of a profile with sso_session or sso_start_url: by the token that `aws sso login` left, which is
// renewed where it can be.
AwsCredentials sso_credentials(const Surroundings& surroundings, const AwsProfiles& profiles,
                               const std::string& profile);

// Keys in JSON, as containers, instances and credential_process have them. Throws
// Error(invalid_argument) for others; `what` begins the message.
AwsCredentials credentials_in_json(const std::string& json, const std::string& what,
                                   const std::string& token_name);

// A role that AWS's Security Token Service lets somebody take on.
struct Role {
  std::string arn;
  std::string session;      // its name; one is made up where it is empty
  std::string external_id;  // may be empty
  std::string seconds;      // may be empty
};

// Both throw Error(invalid_argument) when the service refuses, Error(io) when it does not answer.
AwsCredentials assume_role(const Surroundings& surroundings, const AwsProfiles& profiles,
                           const Role& role, const SigningKeys& keys);
// `token_file` is read each time: it is exchanged every few hours.
AwsCredentials assume_role_by_web_identity(const Surroundings& surroundings,
                                           const AwsProfiles& profiles, const Role& role,
                                           const std::string& token_file);

}  // namespace ffkit
