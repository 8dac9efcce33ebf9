#include "azure/azure_settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

constexpr double kAppLimitS = 20;
constexpr double kMachineLimitS = 2;
constexpr const char* kInString = "AZURE_STORAGE_CONNECTION_STRING";

Error bad_variable(const std::string& why) {
  return {ErrorCode::invalid_argument,
          why,
          {.subject = ErrorSubject::argument,
           .remedy = "copy it from the account's access keys in Azure's portal"}};
}

// By a key, a SAS or a token; by nothing where there is none of them.
struct AzureAuthorizer : public Authorizer {
  Used authorize(HttpRequest& request, const std::string& /*region*/) override {
    // From this version on, listings say what is a folder.
    request.headers.emplace_back("x-ms-version: 2020-12-06");
    request.headers.push_back("x-ms-date: " + http_date(now()));
    // Blocks and their list are parts of one.
    if (request.method == "PUT" && request.url.find("comp=") == std::string::npos) {
      request.headers.emplace_back("x-ms-blob-type: BlockBlob");
    }
    if (!keys.secret.empty()) {
      request.sign = [used = keys](HttpRequest& whole) { sign_by_shared_key(whole, used); };
    } else if (!sas.empty()) {
      request.url += (request.url.find('?') == std::string::npos ? "?" : "&") + sas;
    } else if (token != nullptr) {
      auto used = token->current();
      request.headers.push_back("Authorization: Bearer " + used->token);
      return used;
    }
    return {};
  }
  bool refuse(const Used& used) override {
    if (token != nullptr) token->refuse(std::static_pointer_cast<const BearerToken>(used));
    return token != nullptr;
  }
  std::string whose() const override { return source; }

  SigningKeys keys;
  std::string sas;
  std::unique_ptr<Renewed<BearerToken>> token;
  std::string source;
  std::function<Moment()> now;
};

}  // namespace

ConnectionString parse_connection_string(std::string_view text) {
  std::map<std::string, std::string> members = {{"defaultendpointsprotocol", "https"},
                                                {"endpointsuffix", "core.windows.net"}};
  while (!text.empty()) {
    const std::string_view member = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(member.size() + 1, text.size()));
    const size_t equals = member.find('=');
    if (trimmed(member).empty()) continue;
    if (equals == member.npos) throw bad_variable(fmt::format("a part of {} lacks '='", kInString));
    members[in_lower_case(trimmed(member.substr(0, equals)))] = trimmed(member.substr(equals + 1));
  }
  // Azurite, whose account and key are the same everywhere.
  if (in_lower_case(members["usedevelopmentstorage"]) == "true") {
    members.insert({{"accountname", "devstoreaccount1"},
                    {"accountkey",
                     "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/"
                     "KBHBeksoGMGw=="},
                    {"blobendpoint", "http://127.0.0.1:10000/devstoreaccount1"}});
  }
  ConnectionString result{.account = members["accountname"],
                          .key = members["accountkey"],
                          .sas = members["sharedaccesssignature"],
                          .endpoint = members["blobendpoint"]};
  if (result.endpoint.empty() && result.account.empty()) {
    throw bad_variable(fmt::format("{} has neither AccountName nor BlobEndpoint", kInString));
  }
  if (result.endpoint.empty()) {
    result.endpoint = fmt::format("{}://{}.blob.{}", members["defaultendpointsprotocol"],
                                  result.account, members["endpointsuffix"]);
  }
  Url url = parse_url(result.endpoint, kInString);
  url.path = without_slash(std::move(url.path));
  if (result.sas.empty()) result.sas = url.query;
  url.query.clear();
  // Emulators have the account in the path, Azure in the host's name.
  if (result.account.empty()) {
    result.account =
        url.path.empty() ? url.host.substr(0, url.host.find_first_of(".:")) : url.path.substr(1);
  }
  result.endpoint = url.text();
  return result;
}

BearerToken find_azure_token(const Surroundings& surroundings, std::vector<std::string> looked) {
  const std::string client = surroundings.variable("AZURE_CLIENT_ID");
  const std::string endpoint = surroundings.variable("IDENTITY_ENDPOINT");
  const std::string header = surroundings.variable("IDENTITY_HEADER");
  const bool is_app = !endpoint.empty() && !header.empty();
  std::string host = surroundings.variable("AZURE_POD_IDENTITY_AUTHORITY_HOST");
  if (host.empty()) host = "http://169.254.169.254";
  Url url = is_app ? parse_url(endpoint, "IDENTITY_ENDPOINT")
                   : parse_url(host, "AZURE_POD_IDENTITY_AUTHORITY_HOST");
  if (!is_app) url.path = "/metadata/identity/oauth2/token";
  url.query = fmt::format("api-version={}&resource=https%3A%2F%2Fstorage.azure.com%2F{}{}",
                          is_app ? "2019-08-01" : "2018-02-01",
                          client.empty() ? "" : "&client_id=", percent_encoded(client));
  const HttpResponse response = ask(
      surroundings, "GET", url.text(), {is_app ? "X-IDENTITY-HEADER: " + header : "Metadata: true"},
      "", is_app ? kAppLimitS : kMachineLimitS, is_app ? Patience::thrice : Patience::once);
  const JsonAnswer answer(response.body);
  BearerToken token{answer.text("access_token"), std::nullopt};
  if (response.status != 200 || token.token.empty()) {
    if (!is_app) looked.emplace_back("IDENTITY_ENDPOINT and IDENTITY_HEADER are not set");
    looked.push_back(
        fmt::format("the identity at {} gives no token ({})", url.host, outcome_of(response)));
    throw Error(is_app && response.status >= 500 ? ErrorCode::io : ErrorCode::invalid_argument,
                fmt::format("has no Azure credentials: {}", fmt::join(looked, ", ")),
                {.subject = ErrorSubject::argument,
                 .remedy = "set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or "
                           "AZURE_STORAGE_CONNECTION_STRING, or AZURE_NO_SIGN_REQUEST=YES for a "
                           "public container"});
  }
  // Seconds since 1970, in a text.
  const std::string end = answer.text("expires_on");
  int64_t seconds = 0;
  std::from_chars(end.data(), end.data() + end.size(), seconds);
  token.expires = seconds <= 0 ? surroundings.now() + answer.lifetime("expires_in")
                               : Moment(std::chrono::seconds(std::min<int64_t>(seconds, 5e9)));
  return token;
}

S3Settings azure_settings(const std::string& place, const Surroundings& surroundings) {
  S3Settings settings;
  settings.scheme = "az";
  settings.mark = surroundings.mark;
  settings.account = place.substr(0, place.find('/'));
  settings.bucket = place.substr(place.find('/') + 1);
  settings.endpoint = fmt::format("https://{}.blob.core.windows.net", settings.account);
  settings.is_path_style = true;
  settings.region = "none";
  settings.create_only = "If-None-Match: *";
  settings.variables = "AZURE";
  auto authorizer = std::make_shared<AzureAuthorizer>();
  std::vector<std::string> looked;
  const auto use = [&](const char* name, const ConnectionString& found) {
    if (!found.account.empty() && found.account != settings.account) {
      looked.push_back(fmt::format("{} belongs to the account {}", name, printable(found.account)));
      return;
    }
    if (!found.endpoint.empty()) settings.endpoint = found.endpoint;
    if (!authorizer->source.empty() || (found.key.empty() && found.sas.empty())) return;
    authorizer->source = name;
    authorizer->sas = as_in_url(found.sas.substr(found.sas.starts_with('?') ? 1 : 0));
    if (found.key.empty()) return;
    const std::optional<std::string> key = from_base64(found.key);
    if (!key) throw bad_variable(fmt::format("the key in {} is not valid base64 text", name));
    authorizer->keys = {.id = settings.account, .secret = *key, .token = {}};
  };
  const std::string account = surroundings.variable("AZURE_STORAGE_ACCOUNT");
  for (const char* name : {kInString, "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"}) {
    const std::string value = surroundings.variable(name);
    if (value.empty()) {
      looked.push_back(fmt::format("{} is not set", name));
    } else if (name == kInString) {
      use(name, parse_connection_string(value));
    } else {
      const bool is_key = std::string_view(name).ends_with("KEY");
      use(name, {account, is_key ? value : "", is_key ? "" : value, ""});
    }
  }
  if (surroundings.is_on("AZURE_NO_SIGN_REQUEST")) {
    authorizer = std::make_shared<AzureAuthorizer>();
  } else if (authorizer->source.empty()) {
    authorizer->source = "Azure's identity";
    authorizer->token = std::make_unique<Renewed<BearerToken>>(
        [surroundings, looked] { return find_azure_token(surroundings, looked); },
        surroundings.now);
  }
  authorizer->now = surroundings.now;
  settings.authorizer = authorizer;
  return settings;
}

}  // namespace ffkit
