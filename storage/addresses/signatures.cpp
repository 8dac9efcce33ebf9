#include "addresses/signatures.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <utility>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

// Members that are signatures: Azure's and CloudFront's, Google's, Akamai's.
constexpr std::string_view kSignatures =
    "sig signature x-amz-signature x-goog-signature policy hdnts hdnea hdntl";
// Members of such names are secret, and may as well be the name of a file.
constexpr std::string_view kTokens =
    "token access_token private_token auth key hmac md5 hash jwt verify";
constexpr std::string_view kEnds = "expires exp expiry e";
// What stands beside them. Of two letters and more: Azure's.
constexpr std::string_view kBeside =
    "sv ss srt sp se st spr sr si sip sdd ses skoid sktid skt ske sks skv saoid suoid scid "
    "key-pair-id hash-algorithm keyname urlprefix x-id awsaccesskeyid googleaccessid token_path";

enum class Kind { none, token, signature };

Kind kind_of(std::string_view query) {
  Kind kind = Kind::none;
  bool ends = false;
  while (!query.empty()) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(member.size() + 1, query.size()));
    const std::string name = in_lower_case(member.substr(0, member.find('=')));
    if (has_word(kSignatures, name)) {
      kind = Kind::signature;
    } else if (has_word(kTokens, name)) {
      kind = std::max(kind, Kind::token);
    } else if (has_word(kEnds, name)) {
      ends = true;
    } else if (!name.empty() && !has_word(kBeside, name) && !name.starts_with("x-amz-") &&
               !name.starts_with("x-goog-")) {
      return Kind::none;
    }
  }
  return kind == Kind::token && ends ? Kind::signature : kind;
}

// `name` is scheme, host and path, without slashes at its end. None is ever changed or freed:
// threads read them without locks, which a child of fork() might find held.
struct Signature {
  std::string name;
  std::string query;
  const Signature* before = nullptr;  // of the same bucket
};

std::atomic<const Signature*>& bucket_of(const std::string& name) {
  static std::array<std::atomic<const Signature*>, 4096> buckets;
  return buckets[std::hash<std::string>()(name) % buckets.size()];
}

const Signature* kept_for(const std::string& name) {
  const Signature* kept = bucket_of(name).load();
  while (kept != nullptr && kept->name != name) kept = kept->before;
  return kept;
}

}  // namespace

bool is_signature(std::string_view query) {
  return kind_of(query) != Kind::none;
}

std::optional<std::string> without_signature(std::string_view text) {
  const size_t mark = text.find('?');
  // Each name of a list in braces has its own.
  if (mark == text.npos || text.find('{') < mark) return std::nullopt;
  const Kind kind = kind_of(text.substr(mark + 1, text.find('#', mark) - mark - 1));
  if (kind == Kind::none) return std::nullopt;
  Url url;
  try {
    url = parse_url(text, "the address");
  } catch (const Error&) {
    return std::nullopt;  // whoever opens it says what is wrong
  }
  const std::string query = std::exchange(url.query, "");
  if (query.empty()) return std::nullopt;
  const std::string name = without_slash(url.text());
  const Signature* kept = kept_for(name);
  if (kept == nullptr || kept->query != query) {
    if (kept != nullptr && kind == Kind::token) return std::nullopt;
    auto* fresh = new Signature{name, query, bucket_of(name).load()};
    while (!bucket_of(name).compare_exchange_weak(fresh->before, fresh)) {
    }
  }
  return std::string(text.substr(0, mark).substr(text.find("://") + 3));
}

std::string signature_of(const Url& url) {
  for (std::string name = without_slash(url.text()); name.find("//") != std::string::npos;
       name.resize(name.rfind('/'))) {
    if (const Signature* kept = kept_for(name)) return kept->query;
  }
  return {};
}

}  // namespace ffkit
