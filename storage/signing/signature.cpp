#include "signing/signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

std::string digest_of(const EVP_MD* kind, const void* data, size_t num_bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (EVP_Digest(data, num_bytes, digest.data(), &size, kind, nullptr) != 1) {
    throw Error(ErrorCode::unsupported, "OpenSSL has no digest of the kind that requests need");
  }
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower_letter);
  return result;
}

// Without spaces at both ends; several within become one.
std::string trimmed_value(std::string_view value) {
  std::string result;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!is_space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    pairs.emplace_back(percent_encoded(percent_decoded(part.substr(0, equals))),
                       percent_encoded(percent_decoded(value)));
  }
  std::ranges::sort(pairs);
  std::string result;
  for (const auto& [name, value] : pairs) {
    result += fmt::format("{}{}={}", result.empty() ? "" : "&", name, value);
  }
  return result;
}

// By name; of a name that is there twice, the values in their order.
std::map<std::string, std::string> canonical_headers(const SignedParts& parts) {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : parts.headers) {
    const auto [place, is_new] = result.try_emplace(lower_case(name), trimmed_value(value));
    if (!is_new) place->second += "," + trimmed_value(value);
  }
  return result;
}

std::string names_of(const std::map<std::string, std::string>& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

}  // namespace

std::string sha256(std::string_view text) {
  return digest_of(EVP_sha256(), text.data(), text.size());
}

std::string sha256(std::span<const std::byte> bytes) {
  return digest_of(EVP_sha256(), bytes.data(), bytes.size());
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
           &size) == nullptr) {
    throw Error(ErrorCode::unsupported, "OpenSSL cannot compute an HMAC");
  }
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string sha1_hex(std::string_view text) {
  return hex(digest_of(EVP_sha1(), text.data(), text.size()));
}

std::string rs256(const std::string& pem, std::string_view text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      // An encrypted key is refused: OpenSSL would ask for its password on the terminal.
      PEM_read_bio_PrivateKey(
          file.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr),
      &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (key == nullptr || context == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    throw Error(ErrorCode::invalid_argument, "the private key is no RSA key in PEM");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    throw Error(ErrorCode::invalid_argument, "the private key does not sign");
  }
  signature.resize(size);
  return signature;
}

std::string hex(std::string_view bytes) {
  std::string result;
  result.reserve(2 * bytes.size());
  for (const char c : bytes) result += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return result;
}

std::string base64_url(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string result;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    const size_t num_letters = bytes.size() - i >= 3 ? 4 : bytes.size() - i + 1;
    for (size_t k = 0; k < num_letters; ++k) result += kLetters[bits >> (18 - 6 * k) & 63];
  }
  return result;
}

std::string signing_time(SigningTime time) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string canonical_request(const SignedParts& parts) {
  const auto headers = canonical_headers(parts);
  std::string text =
      fmt::format("{}\n{}\n{}\n", parts.method, parts.path.empty() ? "/" : parts.path,
                  canonical_query(parts.query));
  for (const auto& [name, value] : headers) text += fmt::format("{}:{}\n", name, value);
  return text + fmt::format("\n{}\n{}", names_of(headers), parts.payload_hash);
}

std::string authorization(const SignedParts& parts, const SigningKeys& keys,
                          const SigningScope& scope, SigningTime time,
                          const SigningDialect& dialect) {
  const std::string moment = signing_time(time);
  const std::string day = moment.substr(0, 8);
  const std::string place =
      fmt::format("{}/{}/{}/{}", day, scope.region, scope.service, dialect.terminator);
  std::string key = hmac_sha256(std::string(dialect.key_prefix) + keys.secret, day);
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  key = hmac_sha256(key, dialect.terminator);
  const std::string text = fmt::format("{}\n{}\n{}\n{}", dialect.algorithm, moment, place,
                                       hex(sha256(canonical_request(parts))));
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", dialect.algorithm,
                     keys.id, place, names_of(canonical_headers(parts)),
                     hex(hmac_sha256(key, text)));
}

void sign(HttpRequest& request, const SigningKeys& keys, const SigningScope& scope,
          SigningTime time, Payload payload, const SigningDialect& dialect) {
  const Url url = parse_url(request.url, "the request");
  const std::string prefix(dialect.header_prefix);
  const std::string payload_hash =
      payload == Payload::hashed ? hex(sha256(request.body)) : "UNSIGNED-PAYLOAD";
  request.headers.push_back(prefix + "date: " + signing_time(time));
  if (scope.service != "sts") request.headers.push_back(prefix + "content-sha256: " + payload_hash);
  if (!keys.token.empty()) request.headers.push_back(prefix + "security-token: " + keys.token);
  SignedParts parts{request.method, url.path, url.query, {{"host", url.host}}, payload_hash};
  for (const std::string& header : request.headers) {
    const size_t colon = std::min(header.find(':'), header.size());
    const std::string name = lower_case(std::string_view(header).substr(0, colon));
    if (name.starts_with(prefix) || name == "content-type") {
      parts.headers.emplace_back(name, header.substr(std::min(colon + 1, header.size())));
    }
  }
  request.headers.push_back("Authorization: " + authorization(parts, keys, scope, time, dialect));
}

}  // namespace ffkit
