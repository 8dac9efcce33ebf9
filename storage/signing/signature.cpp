#include "signing/signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "addresses/percent.h"
#include "addresses/url.h"
#include "signing/hashes.h"

namespace ffkit {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
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
