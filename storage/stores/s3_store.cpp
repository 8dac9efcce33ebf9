#include "stores/s3_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include <ffkit/base/crc32c.h>

#include "addresses/place.h"
#include "addresses/url.h"
#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "signing/signature.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

constexpr int64_t kLeastPartBytes = 16 << 20;
constexpr int kMaxParts = 10'000;
constexpr int kMaxPartsUnderway = 4;

// In base64, the most significant byte first, as S3 and Google's store have it.
std::string text_of_crc32c(std::span<const std::byte> bytes) {
  const uint32_t crc = crc32c(bytes);
  std::string big_endian;
  for (int shift = 24; shift >= 0; shift -= 8) big_endian += static_cast<char>(crc >> shift);
  return base64(big_endian);
}

// Buckets with Object Lock take no body without a checksum. Returns it; empty without one.
std::string add_checksum(const S3Settings& settings, S3Call& call) {
  if (settings.crc32c_header.empty()) return {};
  std::string crc = text_of_crc32c(call.body);
  call.headers.push_back(settings.crc32c_header + crc);
  return crc;
}

// Without slashes at its end; empty for the bucket.
std::string folder_key(const std::string& address) {
  return without_slash(parse_address(address).path);
}

ObjectFacts facts_of(const HttpResponse& response, const std::string& address) {
  const std::optional<int64_t> length = response.number("content-length");
  if (!length)
    throw error_at(address, ErrorCode::io,
                   "the answer of the store does not contain the size of the object");
  return {*length, std::string(response.header("etag"))};
}

}  // namespace

std::string key_of(const std::string& address) {
  std::string key = parse_address(address).path;
  if (key.empty()) {
    throw error_at(address, ErrorCode::invalid_argument,
                   "the address has a bucket, but no name of an object")
        .with_subject(ErrorSubject::argument)
        .with_remedy("write the name of the object after the bucket");
  }
  return key;
}

S3Upload::S3Upload(std::shared_ptr<S3Requests> requests, std::string key, int64_t expected_bytes)
    : requests_(std::move(requests)),
      key_(std::move(key)),
      progress_(std::make_shared<Progress>()),
      // A tenth in hand, since the number is a guess.
      part_bytes_(static_cast<size_t>(
          std::max(kLeastPartBytes, expected_bytes / (kMaxParts * 9 / 10) + 1))) {}

void S3Upload::give_up() noexcept {
  if (std::exchange(is_finished_, true)) return;
  try {
    wait_until([this] { return progress_->num_underway == 0; });
  } catch (...) {
    return;  // who stops does not wait: `ffconvert gc` finds what is left
  }
  if (upload_id_.empty()) return;
  try {
    abort();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // The bucket's rules for unfinished uploads remove it.
  }
}

template <typename IsDone>
void S3Upload::wait_until(const IsDone& is_done) {
  std::unique_lock lock(progress_->mutex);
  for (Wait wait; !progress_->has_changed.wait_for(lock, kBetweenChecks, is_done);) {
    wait.waited += kBetweenChecks;
    check_wait(wait);
  }
}

void S3Upload::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // A full part is sent when there is more: the last one is never empty.
    if (part_.size() == part_bytes_) send_part();
    if (part_.empty()) part_.reserve(part_bytes_);
    const size_t size = std::min(bytes.size(), part_bytes_ - part_.size());
    part_.insert(part_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    bytes = bytes.subspan(size);
  }
}

void S3Upload::begin() {
  S3Call call{.method = "POST", .key = key_, .query = "uploads"};
  call.headers = requests_->settings().object_headers;
  if (requests_->settings().has_part_checksums) {
    call.headers.emplace_back("x-amz-checksum-algorithm: CRC32C");
  }
  const HttpResponse response = requests_->fetch(call);
  if (!response.is_success()) throw requests_->failure(response, key_, "written");
  try {
    upload_id_ = parse_upload_id(response.body);
  } catch (const Error& e) {
    throw e.within({.path = requests_->address_of(key_)});
  }
}

S3Call S3Upload::part_call(int number) const {
  std::string query = fmt::format("partNumber={}&uploadId={}", number, percent_encoded(upload_id_));
  return {.method = "PUT", .key = key_, .query = std::move(query)};
}

void S3Upload::send_part() {
  if (upload_id_.empty()) begin();
  wait_for(kMaxPartsUnderway - 1);
  if (++num_parts_ > kMaxParts) {
    throw error_at(requests_->address_of(key_), ErrorCode::unsupported,
                   "has more than {} parts of {} MiB", kMaxParts, part_bytes_ >> 20);
  }
  const auto part = std::make_shared<std::vector<std::byte>>(std::exchange(part_, {}));
  S3Call call = part_call(num_parts_);
  call.body = *part;
  const std::string crc = add_checksum(requests_->settings(), call);
  {
    const std::lock_guard lock(progress_->mutex);
    ++progress_->num_underway;
  }
  const auto done = [part, crc, number = num_parts_, progress = progress_, requests = requests_,
                     key = key_](const HttpResponse& response, std::exception_ptr error) {
    if (error == nullptr && !response.is_success()) {
      error = std::make_exception_ptr(requests->failure(response, key, "written"));
    }
    const std::lock_guard lock(progress->mutex);
    if (error == nullptr) {
      progress->parts[number] = {std::string(response.header("etag")), crc};
    } else if (progress->failure == nullptr) {
      progress->failure = std::move(error);
    }
    --progress->num_underway;
    progress->has_changed.notify_all();
  };
  try {
    requests_->send(call, done);
  } catch (...) {
    const std::lock_guard lock(progress_->mutex);
    --progress_->num_underway;
    throw;
  }
}

void S3Upload::wait_for(int max_underway) {
  wait_until(
      [&] { return progress_->failure != nullptr || progress_->num_underway <= max_underway; });
  const std::lock_guard lock(progress_->mutex);
  if (progress_->failure != nullptr) std::rethrow_exception(progress_->failure);
}

void S3Upload::finish() {
  if (upload_id_.empty()) {
    S3Call call{.method = "PUT", .key = key_, .body = part_};
    call.headers = requests_->settings().object_headers;
    add_checksum(requests_->settings(), call);
    const HttpResponse response = requests_->fetch(call);
    if (!response.is_success()) throw requests_->failure(response, key_, "written");
  } else {
    if (!part_.empty()) send_part();
    wait_for(0);
    complete();
  }
  is_finished_ = true;
  part_ = {};
}

void S3Upload::complete() {
  std::string body = "<CompleteMultipartUpload>";
  for (const auto& [number, part] : progress_->parts) {
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag>", number, part.etag);
    if (requests_->settings().has_part_checksums) {
      body += fmt::format("<ChecksumCRC32C>{}</ChecksumCRC32C>", part.crc32c);
    }
    body += "</Part>";
  }
  body += "</CompleteMultipartUpload>";
  const S3Call call{.method = "POST",
                    .key = key_,
                    .query = "uploadId=" + percent_encoded(upload_id_),
                    .headers = {"Content-Type: application/xml"},
                    .body = std::as_bytes(std::span(body)),
                    .stall_limit_s = kCompleteLimitS,
                    .is_sent_once = true};
  int num_sent = 0;
  const HttpResponse response = requests_->fetch(call, &num_sent);
  const Refusal refusal = refusal_of(response);
  // An earlier attempt has completed it, and its answer was lost.
  if (num_sent > 1 && refusal.code == "NoSuchUpload" &&
      requests_->fetch({.method = "HEAD", .key = key_}).is_success()) {
    return;
  }
  if (!response.is_success() || !refusal.code.empty()) {
    throw requests_->failure(response, key_, "written");
  }
}

void S3Upload::abort() {
  const std::string query = "uploadId=" + percent_encoded(upload_id_);
  requests_->fetch({.method = "DELETE", .key = key_, .query = query});
}

void S3Store::read_range(RangeOfObject range, Done done) {
  begin_read(done, [&] {
    const std::string key = key_of(range.address);
    requests_->read_range(key, std::move(range), done);
  });
}

std::string S3Store::read_all(const std::string& address, int64_t max_bytes) {
  const std::string key = key_of(address);
  HttpResponse response = requests_->fetch({.key = key, .max_body_bytes = max_bytes});
  if (!response.is_success()) throw requests_->failure(response, key, "read");
  return std::move(response.body);
}

std::optional<ObjectFacts> S3Store::find_key(const std::string& key) {
  const HttpResponse response = requests_->fetch({.method = "HEAD", .key = key});
  // Azure's accounts with folders have them as objects, too.
  const bool is_folder = response.header("x-ms-resource-type") == "directory" ||
                         response.header("x-ms-meta-hdi_isfolder") == "true";
  if (response.status == 404 || is_folder) return std::nullopt;
  if (!response.is_success()) throw requests_->failure(response, key, "examined");
  return facts_of(response, requests_->address_of(key));
}

std::optional<ObjectFacts> S3Store::find(const std::string& address) {
  const std::string key = parse_address(address).path;
  if (key.empty() || key.ends_with('/')) return std::nullopt;
  return find_key(key);
}

template <typename TakePage>
void S3Store::read_pages(const std::string& folder, const std::string& query, const char* done,
                         const TakePage& take) {
  std::set<std::string> pages;
  S3Call call{.query = query};
  while (true) {
    const HttpResponse response = requests_->fetch(call);
    if (!response.is_success()) throw requests_->failure(response, folder, done);
    std::string next;
    try {
      next = take(response.body);
    } catch (const Error& e) {
      throw e.within({.path = requests_->address_of(folder)});
    }
    if (next.empty()) return;
    if (!pages.insert(next).second) {
      throw error_at(
          requests_->address_of(folder), ErrorCode::io,
          "the store answers each request for the next page of the listing with the same page");
    }
    call.query = query + next;
  }
}

S3Store::KeyPages S3Store::key_pages() const {
  return {"list-type=2&encoding-type=url", "&continuation-token=", parse_list_page};
}

Listing S3Store::list(const std::string& address, bool recursive) {
  return list_by(address, recursive ? "" : "&delimiter=%2F");
}

Listing S3Store::list_by(const std::string& address, const std::string& more) {
  const std::string folder = folder_key(address);
  const KeyPages pages = key_pages();
  const std::string query =
      pages.query + more + (folder.empty() ? "" : "&prefix=" + percent_encoded(folder + "/"));
  Listing listing;
  read_pages(folder, query, "listed", [&](const std::string& body) {
    ListPage page = pages.parse(body);
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
    return page.next.empty() ? "" : pages.next + percent_encoded(page.next);
  });
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
  S3Call call{.method = "PUT", .key = key, .body = bytes, .is_sent_once = only_if_new};
  call.headers = requests_->settings().object_headers;
  if (only_if_new) call.headers.push_back(requests_->settings().create_only);
  add_checksum(requests_->settings(), call);
  int num_sent = 0;
  HttpResponse response = requests_->fetch(call, &num_sent);
  if (only_if_new && response.status == 501) {
    std::erase(call.headers, requests_->settings().create_only);
    response = requests_->fetch(call, &num_sent);
  }
  const bool is_there = response.status == 412 || refusal_of(response).code == "BlobAlreadyExists";
  if (only_if_new && is_there) {
    // A first attempt may have written it, and its answer was lost.
    return num_sent > 1 && has_bytes(key, bytes);
  }
  if (!response.is_success()) throw requests_->failure(response, key, "written");
  return true;
}

std::unique_ptr<Upload> S3Store::upload(const std::string& address, int64_t expected_bytes) {
  return std::make_unique<S3Upload>(requests_, key_of(address), expected_bytes);
}

void S3Store::remove(const std::string& address) {
  const std::string key = key_of(address);
  const HttpResponse response = requests_->fetch({.method = "DELETE", .key = key});
  const bool is_gone = response.status == 404 && !is_without_bucket(refusal_of(response));
  if (!response.is_success() && !is_gone) throw requests_->failure(response, key, "deleted");
}

std::vector<UnfinishedUpload> S3Store::list_uploads(const std::string& address) {
  const std::string folder = folder_key(address);
  const std::string prefix = folder.empty() ? "" : folder + "/";
  const std::string query =
      prefix.empty() ? "uploads" : "uploads&prefix=" + percent_encoded(prefix);
  std::vector<UnfinishedUpload> uploads;
  read_pages(folder, query, "searched for unfinished uploads", [&](const std::string& body) {
    UploadPage page = parse_upload_page(body);
    for (ListedUpload& listed : page.uploads) {
      // A store may not know prefixes here.
      if (!listed.key.starts_with(prefix)) continue;
      uploads.push_back({.address = requests_->address_of(listed.key),
                         .id = std::move(listed.id),
                         .begun = std::move(listed.begun)});
    }
    std::string next;
    if (!page.next_key.empty()) next = "&key-marker=" + percent_encoded(page.next_key);
    if (!next.empty() && !page.next_id.empty()) {
      next += "&upload-id-marker=" + percent_encoded(page.next_id);
    }
    return next;
  });
  std::ranges::sort(uploads, {}, &UnfinishedUpload::address);
  return uploads;
}

void S3Store::abort_upload(const UnfinishedUpload& upload) {
  const std::string key = key_of(upload.address);
  const std::string query = "uploadId=" + percent_encoded(upload.id);
  const HttpResponse response = requests_->fetch({.method = "DELETE", .key = key, .query = query});
  if (!response.is_success() && response.status != 404) {
    throw requests_->failure(response, key, "aborted");
  }
}

std::shared_ptr<ObjectStore> make_s3_store(S3Settings settings, std::shared_ptr<HttpClient> client,
                                           const RequestPolicy& policy) {
  return std::make_shared<S3Store>(std::move(settings), std::move(client), policy);
}

}  // namespace ffkit
