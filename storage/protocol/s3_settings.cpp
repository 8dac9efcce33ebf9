#include "protocol/s3_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/aws_profile.h"
#include "signing/signature.h"

namespace ffkit {
namespace {

// Over TLS nobody changes a body underway; without, its hash is signed.
Payload payload_of(const HttpRequest& request) {
  return request.body.empty() || request.url.starts_with("http://") ? Payload::hashed
                                                                    : Payload::unsigned_payload;
}

class AwsAuthorizer : public Authorizer {
 public:
  AwsAuthorizer(AwsChain chain, std::function<Moment()> now)
      : chain_(std::move(chain)), now_(std::move(now)) {}

  Used authorize(HttpRequest& request, const std::string& region) override {
    auto credentials = chain_->current();
    sign(request, credentials->keys, {region, "s3"}, now_(), payload_of(request));
    return credentials;
  }

  bool refuse(const Used& used) override {
    chain_->refuse(std::static_pointer_cast<const AwsCredentials>(used));
    return true;
  }

  std::string whose() const override {
    const auto credentials = chain_->last();
    return credentials == nullptr ? "nobody" : credentials->source;
  }

 private:
  const AwsChain chain_;
  const std::function<Moment()> now_;
};

class GoogleHmacAuthorizer : public Authorizer {
 public:
  GoogleHmacAuthorizer(SigningKeys keys, std::function<Moment()> now)
      : keys_(std::move(keys)), now_(std::move(now)) {}

  Used authorize(HttpRequest& request, const std::string& /*region*/) override {
    sign(request, keys_, {"auto", "storage"}, now_(), payload_of(request), kGoogleDialect);
    return {};
  }
  std::string whose() const override { return "GS_ACCESS_KEY_ID"; }

 private:
  const SigningKeys keys_;
  const std::function<Moment()> now_;
};

class GoogleTokenAuthorizer : public Authorizer {
 public:
  explicit GoogleTokenAuthorizer(GoogleChain chain) : chain_(std::move(chain)) {}

  Used authorize(HttpRequest& request, const std::string& /*region*/) override {
    auto token = chain_->current();
    request.headers.push_back("Authorization: Bearer " + token->token);
    return token;
  }
  bool refuse(const Used& used) override {
    chain_->refuse(std::static_pointer_cast<const BearerToken>(used));
    return true;
  }
  std::string whose() const override { return "Google's application default credentials"; }

 private:
  const GoogleChain chain_;
};

// Whether certificates for *.s3.REGION.amazonaws.com hold for the bucket's host.
bool is_host_label(const std::string& bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && std::ranges::all_of(bucket, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
         });
}

constexpr std::pair<const char*, const char*> kObjectHeaders[] = {
    {"server_side_encryption", "x-amz-server-side-encryption"},
    {"sse_kms_key_id", "x-amz-server-side-encryption-aws-kms-key-id"},
    {"storage_class", "x-amz-storage-class"},
    {"acl", "x-amz-acl"},
    {"tagging", "x-amz-tagging"}};

}  // namespace

S3Settings s3_settings(const std::string& bucket, const Surroundings& surroundings,
                       const AwsChain& chain) {
  const AwsProfiles profiles(surroundings);
  S3Settings settings;
  settings.bucket = bucket;
  settings.mark = surroundings.mark;
  settings.region = configured_region(surroundings, profiles);
  const std::string endpoint = configured_endpoint(surroundings, profiles, "S3");
  if (!endpoint.empty()) {
    settings.endpoint = without_slash(parse_url(endpoint, "the endpoint of S3").text());
    if (settings.region.empty()) settings.region = "us-east-1";
  }
  const IniSection* profile = profiles.find(profiles.chosen());
  std::string style = surroundings.variable("addressing_style");
  if (style.empty() && profile != nullptr) style = value_of(*profile, "s3.addressing_style");
  settings.is_path_style = !is_host_label(bucket) || style == "path" ||
                           (!settings.endpoint.empty() && style != "virtual");
  settings.ca_file = configured_ca_file(surroundings, profiles);
  settings.is_fips =
      is_configured(surroundings, profiles, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
  settings.is_dual_stack =
      is_configured(surroundings, profiles, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
  const std::string pays = surroundings.variable("requester_pays");
  if (pays == "yes" ||
      (pays.empty() && surroundings.variable("AWS_REQUEST_PAYER") == "requester")) {
    settings.headers.emplace_back("x-amz-request-payer: requester");
  }
  settings.create_only = "If-None-Match: *";
  if (surroundings.variable("checksum") != "none") {
    settings.crc32c_header = "x-amz-checksum-crc32c: ";
    settings.has_part_checksums = true;
  }
  for (const auto& [option, header] : kObjectHeaders) {
    const std::string value = surroundings.variable(option);
    if (!value.empty()) settings.object_headers.push_back(fmt::format("{}: {}", header, value));
  }
  settings.variables = "AWS";
  settings.authorizer = surroundings.is_on("AWS_NO_SIGN_REQUEST")
                            ? std::make_unique<Authorizer>()
                            : std::make_unique<AwsAuthorizer>(chain, surroundings.now);
  return settings;
}

S3Settings r2_settings(const std::string& bucket, const Surroundings& surroundings,
                       const AwsChain& chain) {
  S3Settings settings = s3_settings(bucket, surroundings, chain);
  std::string own = surroundings.variable("R2_ENDPOINT_URL");
  std::string account = surroundings.variable("R2_ACCOUNT_ID");
  if (account.empty()) account = surroundings.variable("CLOUDFLARE_ACCOUNT_ID");
  if (own.empty() && !account.empty()) {
    if (account.find_first_of("/:@?#") != std::string::npos) {
      throw error_at("r2://" + bucket, ErrorCode::invalid_argument,
                     "R2_ACCOUNT_ID is '{}', which is not the ID of an account; give the ID of the "
                     "account, or set R2_ENDPOINT_URL to an address",
                     printable(account));
    }
    own = "https://" + account + ".r2.cloudflarestorage.com";
  }
  if (!own.empty()) {
    Url url = parse_url(own, "the endpoint of R2");
    if (without_slash(url.path) == "/" + bucket) url.path.clear();  // as Cloudflare's pages show it
    settings.endpoint = without_slash(url.text());
  }
  if (settings.endpoint.empty() || settings.endpoint.find(".amazonaws.com") != std::string::npos) {
    throw Error(ErrorCode::invalid_argument, "neither an R2 endpoint nor an R2 account is given",
                {.path = "r2://" + bucket,
                 .subject = ErrorSubject::argument,
                 .remedy = "set R2_ACCOUNT_ID, CLOUDFLARE_ACCOUNT_ID, or R2_ENDPOINT_URL"});
  }
  settings.scheme = "r2";
  settings.region = "auto";
  settings.is_path_style = true;
  // It refuses checksums that it does not know.
  settings.crc32c_header.clear();
  settings.has_part_checksums = false;
  return settings;
}

S3Settings gs_settings(const std::string& bucket, const Surroundings& surroundings,
                       const GoogleChain& chain) {
  S3Settings settings;
  settings.scheme = "gs";
  settings.bucket = bucket;
  settings.mark = surroundings.mark;
  std::string endpoint = surroundings.variable("STORAGE_EMULATOR_HOST");
  if (endpoint.empty()) endpoint = "https://storage.googleapis.com";
  if (endpoint.find("://") == std::string::npos) endpoint = "http://" + endpoint;
  settings.endpoint = without_slash(parse_url(endpoint, "STORAGE_EMULATOR_HOST").text());
  settings.is_path_style = true;
  settings.region = "auto";
  if (const std::string payer = surroundings.variable("GS_USER_PROJECT"); !payer.empty()) {
    settings.headers.push_back("x-goog-user-project: " + payer);
  }
  settings.create_only = "x-goog-if-generation-match: 0";
  settings.crc32c_header = "x-goog-hash: crc32c=";
  settings.variables = "GS";
  if (surroundings.is_on("GS_NO_SIGN_REQUEST")) {
    settings.authorizer = std::make_unique<Authorizer>();
  } else if (auto keys = google_hmac_keys(surroundings)) {
    settings.authorizer =
        std::make_unique<GoogleHmacAuthorizer>(std::move(*keys), surroundings.now);
  } else {
    settings.authorizer = std::make_unique<GoogleTokenAuthorizer>(chain);
  }
  return settings;
}

std::string url_of(const S3Settings& settings, const std::string& region, const std::string& key,
                   const std::string& query) {
  std::string endpoint = settings.endpoint;
  if (endpoint.empty()) {
    // Without a region the global name answers with the bucket's.
    endpoint = region.empty() ? "https://s3.amazonaws.com"
                              : fmt::format("https://s3{}{}.{}.{}", settings.is_fips ? "-fips" : "",
                                            settings.is_dual_stack ? ".dualstack" : "", region,
                                            aws_domain(region));
  }
  std::string path = "/";
  if (settings.is_path_style) {
    path += settings.bucket + (key.empty() ? "" : "/");
  } else {
    endpoint.insert(endpoint.find("://") + 3, settings.bucket + ".");
  }
  return endpoint + path + percent_encoded_path(key) + (query.empty() ? "" : "?" + query);
}

}  // namespace ffkit
