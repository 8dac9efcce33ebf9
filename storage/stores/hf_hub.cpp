#include "stores/hf_hub.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "addresses/percent.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/hugging_face_token.h"

namespace ffkit {
namespace {

constexpr int kMaxHubRedirects = 5;

int64_t length_or_none(std::string_view text) {
  int64_t length = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  return error == std::errc() && end == text.data() + text.size() ? length : -1;
}

// The address of the next page: Link: <https://...>; rel="next".
std::string next_page(std::string_view link) {
  const size_t relation = link.find("rel=\"next\"");
  if (relation == std::string_view::npos) return {};
  const size_t begin = link.rfind('<', relation);
  const size_t end = begin == std::string_view::npos ? begin : link.find('>', begin);
  if (end == std::string_view::npos || end > relation) return {};
  return std::string(link.substr(begin + 1, end - begin - 1));
}

std::string text_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_missing(const HttpResponse& response) {
  return response.status == 404 && response.header("x-error-code") != "RepoNotFound" &&
         response.header("x-error-code") != "RevisionNotFound";
}

}  // namespace

HfHub::HfHub(const Surroundings& surroundings, const RequestPolicy& policy)
    : endpoint_(hugging_face_endpoint(surroundings)),
      token_(hugging_face_token(surroundings)),
      requester_(surroundings.client(), policy) {}

std::shared_ptr<HfHub::Entry> HfHub::entry_of(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[address];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

HfHub::Pointer HfHub::resolve(const std::string& address) {
  const std::shared_ptr<Entry> entry = entry_of(address);
  const std::lock_guard asking(entry->asking);
  if (Pointer known = entry->get()) return known;
  return entry->set(ask_for(address));
}

HfHub::Pointer HfHub::resolve_anew(const std::string& address) {
  const std::shared_ptr<Entry> entry = entry_of(address);
  const std::lock_guard asking(entry->asking);
  return entry->set(ask_for(address));
}

void HfHub::forget(const std::string& address, const Pointer& resolved) {
  const std::shared_ptr<Entry> entry = entry_of(address);
  const std::lock_guard lock(entry->mutex);
  if (entry->resolved == resolved) entry->resolved = nullptr;
}

HttpRequest HfHub::own_request(const std::string& method, const std::string& url) const {
  HttpRequest request;
  request.method = method;
  request.url = url;
  if (!token_.empty()) request.headers.push_back("Authorization: Bearer " + token_);
  return request;
}

HttpRequest HfHub::request_of(const Resolved& resolved) const {
  if (!resolved.is_elsewhere) return own_request("GET", resolved.url);
  HttpRequest request;
  request.url = resolved.url;
  return request;
}

HfHub::Pointer HfHub::ask_for(const std::string& address) {
  const Address parts = parse_address(address);
  const std::string host = parse_url(endpoint_, "HF_ENDPOINT").host;
  std::string url = fmt::format("{}/datasets/{}/resolve/{}/{}", endpoint_, parts.place,
                                percent_encoded(parts.revision), percent_encoded_path(parts.path));
  auto resolved = std::make_shared<Resolved>();
  for (int i = 0; i < kMaxHubRedirects; ++i) {
    const HttpResponse response =
        requester_.fetch(address, [&](int) { return own_request("HEAD", url); });
    if (is_missing(response)) return nullptr;
    const std::string_view linked = response.header("x-linked-etag");
    if (resolved->facts.version.empty()) {
      resolved->facts.version = linked.empty() ? response.header("etag") : linked;
    }
    const std::string_view length = response.header("x-linked-size");
    if (!length.empty()) resolved->facts.num_bytes = length_or_none(length);
    if (response.status == 200) {
      if (length.empty()) {
        resolved->facts.num_bytes = length_or_none(response.header("content-length"));
      }
      resolved->url = std::move(url);
      break;
    }
    const std::string_view location = response.header("location");
    if (response.status < 300 || response.status >= 400 || location.empty()) {
      throw failure(response, address, "found");
    }
    const Url next = redirected(parse_url(url, "the hub"), location);
    url = next.text();
    // A file that is kept elsewhere has its length and its hash told by the hub.
    if (next.host != host) {
      resolved->is_elsewhere = true;
      resolved->url = std::move(url);
      break;
    }
  }
  if (resolved->url.empty() || resolved->facts.num_bytes < 0) {
    throw error_at(address, ErrorCode::io, "the hub at {} does not say where it is", host);
  }
  return resolved;
}

Listing HfHub::list(const std::string& address, bool recursive) {
  const Address folder = parse_address(address);
  std::string path = folder.path;
  while (path.ends_with('/')) path.pop_back();
  std::string url = fmt::format("{}/api/datasets/{}/tree/{}{}{}{}", endpoint_, folder.place,
                                percent_encoded(folder.revision), path.empty() ? "" : "/",
                                percent_encoded_path(path), recursive ? "?recursive=true" : "");
  Listing listing;
  while (!url.empty()) {
    const HttpResponse response =
        requester_.fetch(address, [&](int) { return own_request("GET", url); });
    if (is_missing(response)) return {};
    if (response.status != 200) throw failure(response, address, "listed");
    const nlohmann::json page = nlohmann::json::parse(response.body, nullptr, false);
    if (!page.is_array()) {
      throw error_at(address, ErrorCode::corrupt, "the hub's listing is no list in JSON");
    }
    for (const nlohmann::json& item : page) {
      if (!item.is_object()) continue;
      Address found = folder;
      found.path = text_member(item, "path");
      if (text_member(item, "type") == "directory") {
        if (!recursive) listing.folders.push_back(text_of(found));
        continue;
      }
      const auto size = item.find("size");
      const bool has_size = size != item.end() && size->is_number_integer();
      const auto lfs = item.find("lfs");
      const bool has_lfs = lfs != item.end() && lfs->is_object();
      const std::string hash = text_member(has_lfs ? *lfs : item, "oid");
      listing.objects.push_back({text_of(found),
                                 {has_size ? size->get<int64_t>() : 0,
                                  hash.empty() ? hash : fmt::format("\"{}\"", hash)}});
    }
    const std::string next = next_page(response.header("link"));
    // The token stays with the hub.
    const bool is_own = next.starts_with(endpoint_ + "/");
    url = is_own && next != url ? next : "";
  }
  std::ranges::sort(listing.objects, {}, &ListedObject::address);
  std::ranges::sort(listing.folders);
  return listing;
}

Error HfHub::failure(const HttpResponse& response, const std::string& address,
                     const char* done) const {
  const std::string_view code = response.header("x-error-code");
  const std::string set_token = token_.empty() ? "set HF_TOKEN if it is private" : "check HF_TOKEN";
  std::string reason = code.empty() ? status_and_words(response) : printable(code);
  ErrorCode kind = ErrorCode::invalid_argument;
  std::string remedy;
  if (code == "RepoNotFound" || (code.empty() && response.status == 401)) {
    kind = ErrorCode::not_found;
    reason = "there is no such data set, or it is private";
    remedy = "check its name; " + set_token;
  } else if (code == "RevisionNotFound") {
    kind = ErrorCode::not_found;
    reason = "the data set has no such revision";
    remedy = "check what stands behind the '@'";
  } else if (code == "GatedRepo") {
    remedy = "ask for access on the data set's page, and set HF_TOKEN";
  } else if (response.status == 404) {
    kind = ErrorCode::not_found;
    reason = "it is not there";
    remedy = "check its name";
  } else if (response.status == 401 || response.status == 403) {
    remedy = set_token;
  } else if (response.status == 429) {
    kind = ErrorCode::io;
    remedy = token_.empty() ? "set HF_TOKEN, which raises the hub's limits" : "try again later";
  } else if (response.status >= 500) {
    kind = ErrorCode::io;
    remedy = "try again later";
  }
  return {kind, fmt::format("cannot be {}: {}", done, reason), {.path = address, .remedy = remedy}};
}

}  // namespace ffkit
