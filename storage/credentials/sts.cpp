#include "credentials/sts.h"

#include <unistd.h>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"
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
  return fmt::format("https://sts.{}.{}/", region, aws_domain(region));
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
                 fmt::format("the role {} could not be taken on by {} ({})", printable(role.arn),
                             action, why),
                 {.subject = ErrorSubject::argument, .remedy = remedy});
  };
  if (response.status == 0 || response.status >= 500) {
    throw refuse(ErrorCode::io, outcome_of(response), "try again later");
  }
  if (response.status != 200) {
    throw refuse(ErrorCode::invalid_argument, reason_of(response),
                 "check the role's trust policy and whose credentials ask for it");
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
    throw Error(ErrorCode::invalid_argument,
                "the file of the web identity's token is not there or empty",
                {.path = token_file,
                 .subject = ErrorSubject::argument,
                 .remedy = "check AWS_WEB_IDENTITY_TOKEN_FILE and the pod's service account"});
  }
  const char* action = "AssumeRoleWithWebIdentity";
  Form form = form_of_role(role, action);
  form.emplace_back("WebIdentityToken", token);
  const HttpResponse response =
      ask(surroundings, "POST",
          sts_url(surroundings, profiles, configured_region(surroundings, profiles)),
          {"Content-Type: application/x-www-form-urlencoded"}, form_of(form), kStsLimitS,
          Patience::thrice);
  return credentials_of(response, role, action);
}

}  // namespace ffkit
