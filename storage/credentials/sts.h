// Roles by AWS's Security Token Service.
#pragma once

#include <string>

#include "credentials/aws_credentials.h"

namespace ffkit {

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
