// SHA-256, HMAC and RSA signatures, by OpenSSL, and how they are written. Thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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
// For URLs, without padding (RFC 4648, section 5).
std::string base64_url(std::string_view bytes);

}  // namespace ffkit
