// Services that give keys of AWS: roles by the Security Token Service, keys by the token that
// `aws sso login` leaves, and those of containers and instances.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "addresses/url.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/aws_credentials.h"
#include "signing/signature.h"
#include "xml/xml.h"

namespace ffkit {
namespace {

using Form = std::vector<std::pair<std::string, std::string>>;

constexpr double kStsLimitS = 20;

std::string sts_url(const Surroundings& surroundings, const AwsProfiles& profiles,
                    const std::string& region) {
  const std::string own = configured_endpoint(surroundings, profiles, "STS");
  if (!own.empty()) return parse_url(own, "the endpoint").text();
  if (region.empty()) return "https://sts.amazonaws.com/";
  const bool is_fips =
      is_configured(surroundings, profiles, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
  return fmt::format("https://sts{}.{}.{}/", is_fips ? "-fips" : "", region, aws_domain(region));
}

Form form_of_role(const Role& role, const char* action) {
  Form form = {
      {"Action", action},
      {"Version", "2011-06-15"},
      {"RoleArn", role.arn},
      {"RoleSessionName", role.session.empty() ? fmt::format("ffkit-{}", getpid()) : role.session}};
  if (!role.external_id.empty()) form.emplace_back("ExternalId", role.external_id);
  if (!role.seconds.empty()) form.emplace_back("DurationSeconds", role.seconds);
  return form;
}

// What a refusal says, by its XML: "AccessDenied: User ... is not authorized".
std::string reason_of(const HttpResponse& response) {
  try {
    const XmlElement root = parse_xml(response.body);
    if (const XmlElement* error = root.find("Error")) {
      return printable(fmt::format("{}: {}", error->text_of("Code"), error->text_of("Message")));
    }
  } catch (const Error&) {
    // Another server's page: its status says enough.
  }
  return outcome_of(response);
}

AwsCredentials credentials_of(const HttpResponse& response, const Role& role,
                              const std::string& action) {
  const auto refuse = [&](ErrorCode code, const std::string& why, const std::string& remedy) {
    return Error(code,
                 fmt::format("the role {} could not be assumed with {} ({})", printable(role.arn),
                             action, why),
                 {.subject = ErrorSubject::argument, .remedy = remedy});
  };
  if (response.status == 0 || response.status >= 500) {
    throw refuse(ErrorCode::io, outcome_of(response), "try again later");
  }
  if (response.status != 200) {
    throw refuse(ErrorCode::invalid_argument, reason_of(response),
                 "check the role's trust policy and the credentials that ask for the role");
  }
  try {
    const XmlElement root = parse_xml(response.body);
    const XmlElement* result = root.find(action + "Result");
    const XmlElement* found = result == nullptr ? nullptr : result->find("Credentials");
    if (found != nullptr && !found->text_of("SecretAccessKey").empty()) {
      return {{std::string(found->text_of("AccessKeyId")),
               std::string(found->text_of("SecretAccessKey")),
               std::string(found->text_of("SessionToken"))},
              moment_of(found->text_of("Expiration")),
              "the role " + role.arn};
    }
  } catch (const Error&) {
    // Said below.
  }
  throw refuse(ErrorCode::io, "the answer has no credentials", "check the endpoint of STS");
}

constexpr double kSsoLimitS = 20;

struct SsoPlace {
  std::string profile;
  std::string region;
  std::filesystem::path file;  // of the token
};

[[noreturn]] void refuse_sso(const std::string& profile, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("profile '{}' {}", printable(profile), why),
              {.subject = ErrorSubject::argument,
               .remedy = fmt::format("run `aws sso login --profile {}`", printable(profile))});
}

std::string service_url(const Surroundings& surroundings, const AwsProfiles& profiles,
                        const std::string& service, const std::string& host) {
  const std::string own = configured_endpoint(surroundings, profiles, service);
  return without_slash(own.empty() ? "https://" + host : parse_url(own, "the endpoint").text());
}

// A file that nobody else can read, and that is there as a whole.
void replace_private_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path temporary = fmt::format("{}.{}", path.string(), getpid());
  const int descriptor = open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) throw io_error_at(temporary, "cannot be written", errno);
  File file = File::adopt(descriptor, temporary);
  file.write(std::as_bytes(std::span(text)));
  file.close();
  rename_file(temporary, path);
}

// The token by its refresh token, which the cache file gets for the AWS CLI too.
std::string renewed_token(const Surroundings& surroundings, const AwsProfiles& profiles,
                          const SsoPlace& place, JsonAnswer& cached) {
  const std::string expired = fmt::format("has an expired token in {}", place.file.string());
  const std::string refresh_token = cached.text("refreshToken");
  if (refresh_token.empty() || cached.text("clientId").empty()) {
    refuse_sso(place.profile, expired);
  }
  JsonAnswer body("{}");
  body.set("clientId", cached.text("clientId"));
  body.set("clientSecret", cached.text("clientSecret"));
  body.set("grantType", "refresh_token");
  body.set("refreshToken", refresh_token);
  const std::string url =
      service_url(surroundings, profiles, "SSO_OIDC",
                  fmt::format("oidc.{}.{}", place.region, aws_domain(place.region))) +
      "/token";
  const HttpResponse response =
      ask(surroundings, "POST", url, {"Content-Type: application/json"}, body.dump(), kSsoLimitS,
          Patience::thrice, configured_ca_file(surroundings, profiles));
  const JsonAnswer answer(response.body);
  std::string token = answer.text("accessToken");
  if (response.status != 200 || token.empty()) {
    refuse_sso(place.profile, fmt::format("{}, and the token could not be renewed ({})", expired,
                                          outcome_of(response)));
  }
  cached.set("accessToken", token);
  cached.set("expiresAt", text_of_moment(surroundings.now() + answer.lifetime("expiresIn")));
  if (!answer.text("refreshToken").empty()) cached.set("refreshToken", answer.text("refreshToken"));
  replace_private_file(place.file, cached.dump());
  return token;
}

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
    throw error_at(file, ErrorCode::invalid_argument,
                   "the token file of the container is missing or empty")
        .with_subject(ErrorSubject::argument)
        .with_remedy("check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
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
  return without_slash(endpoint);
}

}  // namespace

AwsCredentials assume_role(const Surroundings& surroundings, const AwsProfiles& profiles,
                           const Role& role, const SigningKeys& keys) {
  const std::string region = configured_region(surroundings, profiles);
  const std::string body = form_of(form_of_role(role, "AssumeRole"));
  const HttpResponse response = ask_patiently(surroundings, [&] {
    HttpRequest request;
    request.method = "POST";
    request.url = sts_url(surroundings, profiles, region);
    request.headers = {"Content-Type: application/x-www-form-urlencoded"};
    request.body = std::as_bytes(std::span(body));
    request.time_limit_s = kStsLimitS;
    request.ca_file = configured_ca_file(surroundings, profiles);
    sign(request, keys, {region.empty() ? "us-east-1" : region, "sts"}, surroundings.now(),
         Payload::hashed);
    return request;
  });
  return credentials_of(response, role, "AssumeRole");
}

AwsCredentials assume_role_by_web_identity(const Surroundings& surroundings,
                                           const AwsProfiles& profiles, const Role& role,
                                           const std::string& token_file) {
  const std::string token = first_line(text_if_there(token_file).value_or(""));
  if (token.empty()) {
    throw error_at(token_file, ErrorCode::invalid_argument,
                   "the token file of the web identity is missing or empty")
        .with_subject(ErrorSubject::argument)
        .with_remedy("check AWS_WEB_IDENTITY_TOKEN_FILE and the pod's service account");
  }
  const char* action = "AssumeRoleWithWebIdentity";
  Form form = form_of_role(role, action);
  form.emplace_back("WebIdentityToken", token);
  const HttpResponse response =
      ask(surroundings, "POST",
          sts_url(surroundings, profiles, configured_region(surroundings, profiles)),
          {"Content-Type: application/x-www-form-urlencoded"}, form_of(form), kStsLimitS,
          Patience::thrice, configured_ca_file(surroundings, profiles));
  return credentials_of(response, role, action);
}

AwsCredentials sso_credentials(const Surroundings& surroundings, const AwsProfiles& profiles,
                               const std::string& profile) {
  const IniSection& section = *profiles.find(profile);
  const std::string session = value_of(section, "sso_session");
  const IniSection* shared = session.empty() ? &section : profiles.session(session);
  if (shared == nullptr) {
    refuse_sso(profile, fmt::format("uses the sso_session '{}', but {} do not contain this session",
                                    printable(session), profiles.files()));
  }
  const std::string start_url = value_of(*shared, "sso_start_url");
  const SsoPlace place{profile, value_of(*shared, "sso_region"),
                       surroundings.home / ".aws" / "sso" / "cache" /
                           (sha1_hex(session.empty() ? start_url : session) + ".json")};
  const std::string account = value_of(section, "sso_account_id");
  const std::string role = value_of(section, "sso_role_name");
  if (place.region.empty() || account.empty() || role.empty()) {
    throw error_of(
        ErrorCode::invalid_argument,
        "profile '{}' needs sso_region, sso_account_id and sso_role_name; add the missing settings",
        printable(profile));
  }
  JsonAnswer cached(text_if_there(place.file).value_or(""));
  std::string token = cached.text("accessToken");
  if (token.empty()) refuse_sso(profile, "has no token in " + place.file.string());
  const auto expires = moment_of(cached.text("expiresAt"));
  if (!expires || surroundings.now() + std::chrono::minutes(1) >= *expires) {
    token = renewed_token(surroundings, profiles, place, cached);
  }
  const std::string url = fmt::format(
      "{}/federation/credentials?role_name={}&account_id={}",
      service_url(surroundings, profiles, "SSO",
                  fmt::format("portal.sso.{}.{}", place.region, aws_domain(place.region))),
      percent_encoded(role), percent_encoded(account));
  const HttpResponse response =
      ask(surroundings, "GET", url, {"x-amz-sso_bearer_token: " + token}, "", kSsoLimitS,
          Patience::thrice, configured_ca_file(surroundings, profiles));
  if (response.status == 401) refuse_sso(profile, "has a token that is no longer accepted");
  const JsonAnswer answer(response.body);
  AwsCredentials found{
      {answer.text("roleCredentials/accessKeyId"), answer.text("roleCredentials/secretAccessKey"),
       answer.text("roleCredentials/sessionToken")},
      std::nullopt,
      fmt::format("sso of profile '{}'", profile)};
  if (response.status != 200 || found.keys.id.empty() || found.keys.secret.empty()) {
    throw error_of(response.status == 0 || response.status >= 500 ? ErrorCode::io
                                                                  : ErrorCode::invalid_argument,
                   "profile '{}' cannot get keys of role '{}' in account '{}' with sso ({})",
                   printable(profile), printable(role), printable(account), outcome_of(response));
  }
  const double milliseconds = answer.number("roleCredentials/expiration", 0);
  if (milliseconds > 0 && milliseconds < 9e12) {
    found.expires = Moment(std::chrono::milliseconds(static_cast<int64_t>(milliseconds)));
  }
  return found;
}

std::optional<AwsCredentials> container_credentials(const Surroundings& surroundings,
                                                    Looked& looked) {
  const std::string relative = surroundings.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = surroundings.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) {
    looked.emplace_back(
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are not "
        "set");
    return std::nullopt;
  }
  const Url url = relative.empty() ? parse_url(full, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                   : parse_url(fmt::format("http://{}{}", kContainerHost, relative),
                                               "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!may_get_tokens(url)) {
    throw error_of(ErrorCode::invalid_argument,
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI has the host '{}', which is not this "
                   "machine, and does not use https; use an address that begins with https://",
                   url.host);
  }
  std::vector<std::string> headers;
  if (const std::string token = container_token(surroundings); !token.empty()) {
    headers.push_back("Authorization: " + token);
  }
  const HttpResponse response =
      ask(surroundings, "GET", url.text(), headers, "", kContainerLimitS, Patience::thrice);
  const std::string what = "the container's credentials service at " + url.host;
  if (response.status != 200) {
    throw error_of(response.status == 0 || response.status >= 500 ? ErrorCode::io
                                                                  : ErrorCode::invalid_argument,
                   "{} gives no credentials ({})", what, outcome_of(response));
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
