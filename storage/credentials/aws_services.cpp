// Credentials that services of the machine give: containers and instances.
#include <array>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/aws_credentials.h"

namespace ffkit {
namespace {

constexpr std::string_view kContainerHost = "169.254.170.2";
constexpr double kContainerLimitS = 5;
// There is no such service on most machines, and nobody answers there.
constexpr double kInstanceLimitS = 2;

bool may_get_tokens(const Url& url) {
  const std::string host = url.host.substr(0, url.host.find(':'));
  return url.is_https || host == kContainerHost || host == "169.254.170.23" ||
         host == "localhost" || host.starts_with("127.") || url.host.starts_with("[::1]") ||
         url.host.starts_with("[fd00:ec2::23]");
}

std::string container_token(const Surroundings& surroundings) {
  const std::string file = surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (file.empty()) {
    return first_line(surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
  }
  std::string token = first_line(text_if_there(file).value_or(""));
  if (token.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "the file of the container's token is not there or empty",
                {.path = file,
                 .subject = ErrorSubject::argument,
                 .remedy = "check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"});
  }
  return token;
}

std::string instance_endpoint(const Surroundings& surroundings) {
  std::string endpoint = surroundings.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (endpoint.empty()) {
    const std::string mode = surroundings.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    endpoint =
        mode == "IPv6" || mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

}  // namespace

std::optional<AwsCredentials> container_credentials(const Surroundings& surroundings,
                                                    Looked& looked) {
  const std::string relative = surroundings.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = surroundings.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) {
    looked.emplace_back("no AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI");
    return std::nullopt;
  }
  const Url url = relative.empty() ? parse_url(full, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                   : parse_url(fmt::format("http://{}{}", kContainerHost, relative),
                                               "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!may_get_tokens(url)) {
    throw error_of(ErrorCode::invalid_argument,
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI names the host '{}', which is neither this "
                   "machine nor reached by https",
                   url.host);
  }
  std::vector<std::string> headers;
  if (const std::string token = container_token(surroundings); !token.empty()) {
    headers.push_back("Authorization: " + token);
  }
  const HttpResponse response =
      ask(surroundings, "GET", url.text(), headers, "", kContainerLimitS, Patience::thrice);
  const std::string what = "the container's service of credentials at " + url.host;
  if (response.status != 200) {
    throw error_of(response.status == 0 || response.status >= 500 ? ErrorCode::io
                                                                  : ErrorCode::invalid_argument,
                   "{} gives none ({})", what, outcome_of(response));
  }
  return credentials_in_json(response.body, what, "Token");
}

std::optional<AwsCredentials> instance_credentials(const Surroundings& surroundings,
                                                   Looked& looked) {
  if (surroundings.is_on("AWS_EC2_METADATA_DISABLED")) {
    looked.emplace_back("AWS_EC2_METADATA_DISABLED is set");
    return std::nullopt;
  }
  const std::string endpoint = instance_endpoint(surroundings);
  const std::string what = "the metadata service at " + endpoint;
  const HttpResponse token =
      ask(surroundings, "PUT", endpoint + "/latest/api/token",
          {"X-aws-ec2-metadata-token-ttl-seconds: 21600"}, "", kInstanceLimitS, Patience::once);
  if (token.status != 200) {
    looked.push_back(fmt::format("{} gives no token ({})", what, outcome_of(token)));
    return std::nullopt;
  }
  const std::string roles = endpoint + "/latest/meta-data/iam/security-credentials/";
  const std::vector<std::string> headers = {"X-aws-ec2-metadata-token: " + first_line(token.body)};
  const HttpResponse names =
      ask(surroundings, "GET", roles, headers, "", kInstanceLimitS, Patience::once);
  const std::string role = first_line(names.body);
  if (names.status != 200 || role.empty()) {
    looked.push_back(
        fmt::format("{} knows no role of this instance ({})", what, outcome_of(names)));
    return std::nullopt;
  }
  const HttpResponse keys =
      ask(surroundings, "GET", roles + role, headers, "", kInstanceLimitS, Patience::thrice);
  if (keys.status != 200) {
    throw error_of(ErrorCode::io, "{} does not give the keys of role '{}' ({})", what,
                   printable(role), outcome_of(keys));
  }
  AwsCredentials found = credentials_in_json(keys.body, what, "Token");
  found.source = fmt::format("the instance's role '{}'", role);
  return found;
}

}  // namespace ffkit
