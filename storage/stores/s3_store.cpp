#include "stores/s3_store.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "addresses/address.h"
#include "addresses/percent.h"
#include "base/make_error.h"
#include "stores/s3_upload.h"
#include "stores/told.h"

namespace ffkit {
namespace {

std::string key_of(const std::string& address) {
  std::string key = parse_address(address).path;
  if (key.empty()) {
    throw Error(ErrorCode::invalid_argument, "names a bucket, but no object in it",
                {.path = address,
                 .subject = ErrorSubject::argument,
                 .remedy = "put the object's name behind it"});
  }
  return key;
}

bool is_success(const HttpResponse& response) {
  return response.status >= 200 && response.status < 300;
}

ObjectFacts facts_of(const HttpResponse& response, const std::string& address) {
  const std::string_view length = response.header("content-length");
  ObjectFacts facts;
  facts.version = response.header("etag");
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), facts.num_bytes);
  if (error != std::errc() || length.empty() || facts.num_bytes < 0) {
    throw error_at(address, ErrorCode::io, "the store does not say how long it is");
  }
  return facts;
}

}  // namespace

S3Store::S3Store(S3Settings settings, std::shared_ptr<HttpClient> client,
                 const RequestPolicy& policy)
    : requests_(std::make_shared<S3Requests>(std::move(settings), std::move(client), policy)) {}

void S3Store::read_range(const std::string& address, int64_t offset, std::span<std::byte> into,
                         const std::string& version, std::shared_ptr<std::string> found,
                         Done done) {
  begin_read(done, [&] {
    const std::string key = key_of(address);
    if (into.empty()) {
      done(nullptr);
    } else {
      requests_->read_range(key, offset, into, version, std::move(found), done);
    }
  });
}

std::string S3Store::read_all(const std::string& address, int64_t max_bytes) {
  const std::string key = key_of(address);
  S3Call call;
  call.key = key;
  call.max_body_bytes = max_bytes;
  HttpResponse response = requests_->fetch(call);
  if (!is_success(response)) throw requests_->failure(response, key, "read");
  return std::move(response.body);
}

std::optional<ObjectFacts> S3Store::find_key(const std::string& key) {
  S3Call call;
  call.method = "HEAD";
  call.key = key;
  const HttpResponse response = requests_->fetch(call);
  if (response.status == 404) return std::nullopt;
  if (!is_success(response)) throw requests_->failure(response, key, "looked for");
  return facts_of(response, requests_->address_of(key));
}

std::optional<ObjectFacts> S3Store::find(const std::string& address) {
  const std::string key = parse_address(address).path;
  if (key.empty() || key.ends_with('/')) return std::nullopt;
  return find_key(key);
}

Listing S3Store::list(const std::string& address, bool recursive) {
  std::string folder = parse_address(address).path;
  while (folder.ends_with('/')) folder.pop_back();
  const std::string prefix = folder.empty() ? "" : folder + "/";
  const std::string base = "list-type=2&encoding-type=url" +
                           std::string(recursive ? "" : "&delimiter=%2F") +
                           (prefix.empty() ? "" : "&prefix=" + percent_encoded(prefix));
  Listing listing;
  std::set<std::string> tokens;
  S3Call call;
  call.query = base;
  while (true) {
    const HttpResponse response = requests_->fetch(call);
    if (!is_success(response)) throw requests_->failure(response, folder, "listed");
    ListPage page;
    try {
      page = parse_list_page(response.body);
    } catch (const Error& e) {
      throw e.within({.path = requests_->address_of(folder)});
    }
    for (ListedKey& listed : page.keys) {
      // An empty object that stands for a folder.
      if (listed.key.ends_with('/')) continue;
      listing.objects.push_back(
          {requests_->address_of(listed.key), {listed.num_bytes, std::move(listed.version)}});
    }
    for (std::string& name : page.prefixes) {
      if (name.ends_with('/')) name.pop_back();
      listing.folders.push_back(requests_->address_of(name));
    }
    if (page.next.empty()) break;
    if (!tokens.insert(page.next).second) {
      throw error_at(requests_->address_of(folder), ErrorCode::io,
                     "the store gives the same part of the listing again and again");
    }
    call.query = base + "&continuation-token=" + percent_encoded(page.next);
  }
  std::ranges::sort(listing.objects, {}, &ListedObject::address);
  std::ranges::sort(listing.folders);
  listing.folders.erase(std::unique(listing.folders.begin(), listing.folders.end()),
                        listing.folders.end());
  return listing;
}

bool S3Store::has_bytes(const std::string& key, std::span<const std::byte> bytes) {
  const auto facts = find_key(key);
  if (!facts || facts->num_bytes != static_cast<int64_t>(bytes.size())) return false;
  const std::string found = read_all(requests_->address_of(key), facts->num_bytes);
  return std::ranges::equal(std::as_bytes(std::span(found)), bytes);
}

bool S3Store::put(const std::string& address, std::span<const std::byte> bytes, bool only_if_new) {
  const std::string key = key_of(address);
  // Stores that ignore the condition are asked before; it takes a fifth of a second at most.
  if (only_if_new && find_key(key)) return false;
  S3Call call;
  call.method = "PUT";
  call.key = key;
  call.headers = {"Content-Type: application/octet-stream"};
  if (only_if_new) call.headers.push_back(requests_->settings().create_only);
  call.body = bytes;
  call.is_sent_once = only_if_new;
  int num_sent = 0;
  HttpResponse response = requests_->fetch(call, &num_sent);
  if (only_if_new && response.status == 501) {
    call.headers.pop_back();
    response = requests_->fetch(call, &num_sent);
  }
  if (only_if_new && response.status == 412) {
    // A first attempt may have written it, and its answer was lost.
    return num_sent > 1 && has_bytes(key, bytes);
  }
  if (!is_success(response)) throw requests_->failure(response, key, "written");
  return true;
}

std::unique_ptr<Upload> S3Store::upload(const std::string& address, int64_t expected_bytes) {
  return std::make_unique<S3Upload>(requests_, key_of(address), expected_bytes);
}

void S3Store::remove(const std::string& address) {
  const std::string key = key_of(address);
  S3Call call;
  call.method = "DELETE";
  call.key = key;
  const HttpResponse response = requests_->fetch(call);
  const bool is_gone = response.status == 404 && refusal_of(response).code != "NoSuchBucket";
  if (!is_success(response) && !is_gone) throw requests_->failure(response, key, "deleted");
}

std::vector<UnfinishedUpload> S3Store::list_uploads(const std::string& address) {
  std::string folder = parse_address(address).path;
  while (folder.ends_with('/')) folder.pop_back();
  const std::string prefix = folder.empty() ? "" : folder + "/";
  const std::string base = prefix.empty() ? "uploads" : "uploads&prefix=" + percent_encoded(prefix);
  std::vector<UnfinishedUpload> uploads;
  std::set<std::string> pages;
  S3Call call;
  call.query = base;
  while (true) {
    const HttpResponse response = requests_->fetch(call);
    if (!is_success(response)) {
      throw requests_->failure(response, folder, "searched for unfinished uploads");
    }
    UploadPage page;
    try {
      page = parse_upload_page(response.body);
    } catch (const Error& e) {
      throw e.within({.path = requests_->address_of(folder)});
    }
    for (ListedUpload& listed : page.uploads) {
      // A store may not know prefixes here.
      if (!listed.key.starts_with(prefix)) continue;
      uploads.push_back({.address = requests_->address_of(listed.key),
                         .id = std::move(listed.id),
                         .begun = std::move(listed.begun)});
    }
    if (page.next_key.empty()) break;
    const std::string next =
        "&key-marker=" + percent_encoded(page.next_key) +
        (page.next_id.empty() ? std::string()
                              : "&upload-id-marker=" + percent_encoded(page.next_id));
    if (!pages.insert(next).second) {
      throw error_at(requests_->address_of(folder), ErrorCode::io,
                     "the store gives the same part of the listing again and again");
    }
    call.query = base + next;
  }
  std::ranges::sort(uploads, {}, &UnfinishedUpload::address);
  return uploads;
}

void S3Store::abort_upload(const UnfinishedUpload& upload) {
  const std::string key = key_of(upload.address);
  S3Call call;
  call.method = "DELETE";
  call.key = key;
  call.query = "uploadId=" + percent_encoded(upload.id);
  const HttpResponse response = requests_->fetch(call);
  if (!is_success(response) && response.status != 404) {
    throw requests_->failure(response, key, "given up");
  }
}

}  // namespace ffkit
