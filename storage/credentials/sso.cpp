// Keys by the token that `aws sso login` leaves in ~/.aws/sso/cache.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "addresses/percent.h"
#include "addresses/url.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/aws_credentials.h"
#include "signing/hashes.h"

namespace ffkit {
namespace {

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
  std::string url = own.empty() ? "https://" + host : parse_url(own, "the endpoint").text();
  while (url.ends_with('/')) url.pop_back();
  return url;
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
  const std::string expired =
      fmt::format("has a token of {} that has expired", place.file.string());
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
  const HttpResponse response = ask(surroundings, "POST", url, {"Content-Type: application/json"},
                                    body.dump(), kSsoLimitS, Patience::thrice);
  const JsonAnswer answer(response.body);
  std::string token = answer.text("accessToken");
  if (response.status != 200 || token.empty()) {
    refuse_sso(place.profile,
               fmt::format("{}, and could not be renewed ({})", expired, outcome_of(response)));
  }
  cached.set("accessToken", token);
  cached.set("expiresAt", text_of_moment(surroundings.now() + answer.lifetime("expiresIn")));
  if (!answer.text("refreshToken").empty()) cached.set("refreshToken", answer.text("refreshToken"));
  replace_private_file(place.file, cached.dump());
  return token;
}

}  // namespace

AwsCredentials sso_credentials(const Surroundings& surroundings, const AwsProfiles& profiles,
                               const std::string& profile) {
  const IniSection& section = *profiles.find(profile);
  const std::string session = value_of(section, "sso_session");
  const IniSection* shared = session.empty() ? &section : profiles.session(session);
  if (shared == nullptr) {
    refuse_sso(profile, fmt::format("names the sso_session '{}', which is not in {}",
                                    printable(session), profiles.files()));
  }
  const std::string start_url = value_of(*shared, "sso_start_url");
  const SsoPlace place{profile, value_of(*shared, "sso_region"),
                       surroundings.home / ".aws" / "sso" / "cache" /
                           (sha1_hex(session.empty() ? start_url : session) + ".json")};
  const std::string account = value_of(section, "sso_account_id");
  const std::string role = value_of(section, "sso_role_name");
  if (place.region.empty() || account.empty() || role.empty()) {
    throw error_of(ErrorCode::invalid_argument,
                   "profile '{}' lacks one of sso_region, sso_account_id and sso_role_name",
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
  const HttpResponse response = ask(surroundings, "GET", url, {"x-amz-sso_bearer_token: " + token},
                                    "", kSsoLimitS, Patience::thrice);
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
                   "profile '{}' gets no keys of role '{}' in account '{}' by sso ({})",
                   printable(profile), printable(role), printable(account), outcome_of(response));
  }
  const double milliseconds = answer.number("roleCredentials/expiration", 0);
  if (milliseconds > 0 && milliseconds < 9e12) {
    found.expires = Moment(std::chrono::milliseconds(static_cast<int64_t>(milliseconds)));
  }
  return found;
}

}  // namespace ffkit
