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

// Decoded.
std::vector<std::pair<std::string, std::string>> members_of(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    pairs.emplace_back(percent_decoded(part.substr(0, equals)), percent_decoded(value));
  }
  return pairs;
}

std::string canonical_query(std::string_view query) {
  auto pairs = members_of(query);
  for (auto& [name, value] : pairs) {
    name = percent_encoded(name);
    value = percent_encoded(value);
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
    const auto [place, is_new] = result.try_emplace(in_lower_case(name), trimmed_value(value));
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
    throw Error(ErrorCode::invalid_argument, "the private key is not an RSA key in PEM");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    throw Error(ErrorCode::invalid_argument, "OpenSSL cannot sign with the private key");
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

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const auto* letters = reinterpret_cast<const unsigned char*>(text.data());
  auto* into = reinterpret_cast<unsigned char*>(bytes.data());
  const int size = EVP_DecodeBlock(into, letters, static_cast<int>(text.size()));
  if (size != std::ssize(bytes) || bytes.empty()) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
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
    const std::string name = in_lower_case(std::string_view(header).substr(0, colon));
    if (name.starts_with(prefix) || name == "content-type") {
      parts.headers.emplace_back(name, header.substr(std::min(colon + 1, header.size())));
    }
  }
  request.headers.push_back("Authorization: " + authorization(parts, keys, scope, time, dialect));
}

std::string http_date(SigningTime time) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string shared_key_text(const HttpRequest& request, const std::string& account) {
  SignedParts parts;
  for (const std::string& header : request.headers) {
    const size_t colon = std::min(header.find(':'), header.size());
    parts.headers.emplace_back(header.substr(0, colon),
                               header.substr(std::min(colon + 1, header.size())));
  }
  auto headers = canonical_headers(parts);
  if (!request.body.empty()) headers["content-length"] = std::to_string(request.body.size());
  std::string text = request.method + "\n";
  for (const char* name :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
        "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"}) {
    const auto found = headers.find(name);
    text += (found == headers.end() ? "" : found->second) + "\n";
  }
  for (const auto& [name, value] : headers) {
    if (name.starts_with("x-ms-")) text += fmt::format("{}:{}\n", name, value);
  }
  const Url url = parse_url(request.url, "the request");
  text += "/" + account + url.path;
  auto members = members_of(url.query);
  for (auto& [name, value] : members) name = in_lower_case(name);
  std::ranges::sort(members);
  for (const auto& [name, value] : members) text += fmt::format("\n{}:{}", name, value);
  return text;
}

void sign_by_shared_key(HttpRequest& request, const SigningKeys& keys) {
  const std::string text = shared_key_text(request, keys.id);
  request.headers.push_back(fmt::format("Authorization: SharedKey {}:{}", keys.id,
                                        base64(hmac_sha256(keys.secret, text))));
}

}  // namespace ffkit
