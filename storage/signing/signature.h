// Hashes by OpenSSL, and signatures of requests by headers: AWS Signature Version 4, Google's V4
// for HMAC keys, which is the same with other names, and Azure's Shared Key. Pure functions.
//
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
// https://cloud.google.com/storage/docs/authentication/signatures
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "http/http_client.h"

namespace ffkit {

// Digests are 32 bytes.
std::string sha256(std::string_view text);
std::string sha256(std::span<const std::byte> bytes);
std::string hmac_sha256(std::string_view key, std::string_view text);
// SHA-1 as hexadecimal digits: names of files of the AWS CLI's cache.
std::string sha1_hex(std::string_view text);

// RSASSA-PKCS1-v1_5 with SHA-256, "RS256" of JSON web tokens. `pem` is the private key. Throws
// Error(invalid_argument) when it is none, without words of it.
std::string rs256(const std::string& pem, std::string_view text);

std::string hex(std::string_view bytes);
// The bytes of a text in base64 with padding; nothing if it is not one.
std::optional<std::string> from_base64(std::string_view text);

struct SigningDialect {
  std::string_view algorithm;
  std::string_view key_prefix;
  std::string_view terminator;
  std::string_view header_prefix;  // of the headers that the store defines
};
inline constexpr SigningDialect kAwsDialect = {"AWS4-HMAC-SHA256", "AWS4", "aws4_request",
                                               "x-amz-"};
inline constexpr SigningDialect kGoogleDialect = {"GOOG4-HMAC-SHA256", "GOOG4", "goog4_request",
                                                  "x-goog-"};

struct SigningKeys {
  std::string id;
  std::string secret;
  std::string token;  // of a session; empty without one
};

struct SigningScope {
  std::string region;   // "us-east-1"
  std::string service;  // "s3", "sts", "storage"
};

using SigningTime = std::chrono::system_clock::time_point;

// What is signed, as it will be sent.
struct SignedParts {
  std::string method;
  std::string path;                                          // encoded
  std::string query;                                         // encoded, in any order
  std::vector<std::pair<std::string, std::string>> headers;  // all of them are signed
  std::string payload_hash;  // hexadecimal SHA-256, or UNSIGNED-PAYLOAD
};

std::string canonical_request(const SignedParts& parts);
// The value of the Authorization header.
std::string authorization(const SignedParts& parts, const SigningKeys& keys,
                          const SigningScope& scope, SigningTime time,
                          const SigningDialect& dialect = kAwsDialect);

// "20150830T123600Z".
std::string signing_time(SigningTime time);

enum class Payload : uint8_t { hashed, unsigned_payload };

// Adds the headers of date, payload, token and signature to `request`. Signed are the host,
// Content-Type and headers of the dialect; others (Range, If-Match) are left to proxies.
void sign(HttpRequest& request, const SigningKeys& keys, const SigningScope& scope,
          SigningTime time, Payload payload, const SigningDialect& dialect = kAwsDialect);

// "Mon, 30 Nov 2026 16:06:26 GMT".
std::string http_date(SigningTime time);

// What Azure's Shared Key signs of a request of `account`, whose headers are all there.
std::string shared_key_text(const HttpRequest& request, const std::string& account);
// Adds the header with that signature. The secret of `keys` is the key's bytes, the id the account.
void sign_by_shared_key(HttpRequest& request, const SigningKeys& keys);

}  // namespace ffkit
