#include "credentials/bearer_tokens.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "signing/signature.h"

namespace ffkit {
namespace {

constexpr double kGoogleLimitS = 20;
constexpr double kGoogleMetadataLimitS = 2;
constexpr const char* kGoogleTokenUrl = "https://oauth2.googleapis.com/token";
constexpr const char* kGoogleScope = "https://www.googleapis.com/auth/devstorage.read_write";

BearerToken token_of(const HttpResponse& response, const std::string& what, Moment now) {
  const JsonAnswer answer(response.body);
  BearerToken token{answer.text("access_token"), std::nullopt};
  if (response.status != 200 || token.token.empty()) {
    const std::string why = answer.text("error");
    throw Error(response.status == 0 || response.status >= 500 ? ErrorCode::io
                                                               : ErrorCode::invalid_argument,
                fmt::format("{} gives no token ({}{}{})", what, outcome_of(response),
                            why.empty() ? "" : ": ", printable(why)),
                {.subject = ErrorSubject::argument,
                 .remedy = "run `gcloud auth application-default login`, or check the key"});
  }
  token.expires = now + answer.lifetime("expires_in");
  return token;
}

std::string token_url(const JsonAnswer& key) {
  const std::string url = key.text("token_uri");
  return url.empty() ? kGoogleTokenUrl : parse_url(url, "token_uri").text();
}

// A token for a text that the account's key has signed (RFC 7523).
std::string signed_claim(const JsonAnswer& key, const std::string& url, Moment now) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  JsonAnswer head("{}");
  head.set("alg", "RS256");
  head.set("typ", "JWT");
  if (const std::string id = key.text("private_key_id"); !id.empty()) head.set("kid", id);
  JsonAnswer claim("{}");
  claim.set("iss", key.text("client_email"));
  claim.set("scope", kGoogleScope);
  claim.set("aud", url);
  claim.set("iat", int64_t{seconds});
  claim.set("exp", int64_t{seconds + 3600});
  const std::string text = base64_url(head.dump()) + "." + base64_url(claim.dump());
  return text + "." + base64_url(rs256(key.text("private_key"), text));
}

BearerToken token_of_file(const Surroundings& surroundings, const std::filesystem::path& path,
                          const std::string& text) {
  const JsonAnswer key(text);
  const std::string kind = key.text("type");
  const auto refuse = [&](ErrorCode code, const std::string& why, const std::string& remedy) {
    return error_at(path, code, why).with_subject(ErrorSubject::argument).with_remedy(remedy);
  };
  std::vector<std::pair<std::string, std::string>> form;
  const std::string url = token_url(key);
  if (kind == "authorized_user") {
    form = {{"grant_type", "refresh_token"},
            {"client_id", key.text("client_id")},
            {"client_secret", key.text("client_secret")},
            {"refresh_token", key.text("refresh_token")}};
  } else if (kind == "service_account") {
    try {
      form = {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
              {"assertion", signed_claim(key, url, surroundings.now())}};
    } catch (const Error& e) {
      throw e.within({.path = path.string(), .remedy = "download the account's key again"});
    }
  } else if (key.is_object()) {
    throw refuse(
        ErrorCode::unsupported,
        fmt::format("the file has credentials of type '{}', which ffkit does not support",
                    printable(kind)),
        "use credentials of the type authorized_user or service_account, or use HMAC keys");
  } else {
    throw refuse(ErrorCode::invalid_argument, "the file is not JSON with Google credentials",
                 "check GOOGLE_APPLICATION_CREDENTIALS");
  }
  const HttpResponse response =
      ask(surroundings, "POST", url, {"Content-Type: application/x-www-form-urlencoded"},
          form_of(form), kGoogleLimitS, Patience::thrice);
  return token_of(response, parse_url(url, "token_uri").host, surroundings.now());
}

}  // namespace

std::optional<SigningKeys> google_hmac_keys(const Surroundings& surroundings) {
  SigningKeys keys{surroundings.variable("GS_ACCESS_KEY_ID"),
                   surroundings.variable("GS_SECRET_ACCESS_KEY"), ""};
  if (keys.id.empty()) return std::nullopt;
  if (keys.secret.empty()) {
    throw Error(
        ErrorCode::invalid_argument,
        "the environment has GS_ACCESS_KEY_ID, but no GS_SECRET_ACCESS_KEY",
        {.subject = ErrorSubject::argument, .remedy = "set both variables or neither variable"});
  }
  return keys;
}

BearerToken find_google_token(const Surroundings& surroundings) {
  std::vector<std::string> looked = {"the environment has no GS_ACCESS_KEY_ID"};
  const std::string named = surroundings.variable("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string config = surroundings.variable("CLOUDSDK_CONFIG");
  const std::filesystem::path path =
      !named.empty() ? std::filesystem::path(named)
                     : (config.empty() ? surroundings.home / ".config" / "gcloud"
                                       : std::filesystem::path(config)) /
                           "application_default_credentials.json";
  if (const auto text = text_if_there(path)) return token_of_file(surroundings, path, *text);
  if (!named.empty()) {
    throw error_at(path, ErrorCode::invalid_argument, "is not there")
        .with_subject(ErrorSubject::argument)
        .with_remedy("check GOOGLE_APPLICATION_CREDENTIALS");
  }
  looked.push_back(
      fmt::format("GOOGLE_APPLICATION_CREDENTIALS is not set, {} does not exist", path.string()));
  if (surroundings.is_on("NO_GCE_CHECK")) {
    looked.emplace_back("NO_GCE_CHECK is set");
  } else {
    std::string host = surroundings.variable("GCE_METADATA_HOST");
    if (host.empty()) host = "metadata.google.internal";
    const std::string what = "the metadata server " + host;
    const HttpResponse response = ask(
        surroundings, "GET",
        fmt::format("http://{}/computeMetadata/v1/instance/service-accounts/default/token", host),
        {"Metadata-Flavor: Google"}, "", kGoogleMetadataLimitS, Patience::once);
    if (response.status == 200) return token_of(response, what, surroundings.now());
    looked.push_back(fmt::format("{} gives no token ({})", what, outcome_of(response)));
  }
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("has no Google credentials: {}", fmt::join(looked, ", ")),
      {.subject = ErrorSubject::argument,
       .remedy = "run `gcloud auth application-default login`, or set GS_ACCESS_KEY_ID and "
                 "GS_SECRET_ACCESS_KEY, or set GS_NO_SIGN_REQUEST=YES for a public bucket"});
}

std::string hugging_face_token(const Surroundings& surroundings) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (std::string token = first_line(surroundings.variable(name)); !token.empty()) return token;
  }
  std::filesystem::path path = surroundings.variable("HF_TOKEN_PATH");
  if (path.empty()) {
    std::filesystem::path folder = surroundings.variable("HF_HOME");
    if (folder.empty()) {
      const std::string cache = surroundings.variable("XDG_CACHE_HOME");
      folder = (cache.empty() ? surroundings.home / ".cache" : std::filesystem::path(cache)) /
               "huggingface";
    }
    path = folder / "token";
  }
  return first_line(text_if_there(path).value_or(""));
}

std::string hugging_face_endpoint(const Surroundings& surroundings) {
  const std::string own = surroundings.variable("HF_ENDPOINT");
  return own.empty() ? "https://huggingface.co"
                     : without_slash(parse_url(own, "HF_ENDPOINT").text());
}

}  // namespace ffkit
