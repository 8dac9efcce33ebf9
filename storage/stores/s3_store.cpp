#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "addresses/place.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "protocol/s3_requests.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

constexpr int64_t kLeastPartBytes = 16 << 20;
constexpr int kMaxParts = 10'000;
constexpr int kMaxPartsUnderway = 4;
constexpr double kCompleteLimitS = 300;

// A multipart upload. At most four parts are underway, and a fifth is filled: 80 MiB. What is
// smaller than a part is written at once.
class S3Upload : public Upload {
 public:
  S3Upload(std::shared_ptr<S3Requests> requests, std::string key, int64_t expected_bytes);
  // Waits for what is underway, and aborts what is not finished.
  ~S3Upload() override;
  S3Upload(const S3Upload&) = delete;
  S3Upload& operator=(const S3Upload&) = delete;

  void add(std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  // Shared with the answers of parts.
  struct Progress {
    std::mutex mutex;
    std::condition_variable has_changed;
    int num_underway = 0;
    std::map<int, std::string> etags;  // by number
    std::exception_ptr failure;
  };

  void begin();
  void send_part();
  // Waits until at most so many parts are underway. Throws what failed.
  void wait_for(int max_underway);
  void complete();
  void abort() noexcept;

  const std::shared_ptr<S3Requests> requests_;
  const std::string key_;
  const std::shared_ptr<Progress> progress_;
  size_t part_bytes_;
  std::vector<std::byte> part_;
  std::string upload_id_;  // empty before the first part is sent
  int num_parts_ = 0;
  bool is_finished_ = false;
};

S3Upload::S3Upload(std::shared_ptr<S3Requests> requests, std::string key, int64_t expected_bytes)
    : requests_(std::move(requests)),
      key_(std::move(key)),
      progress_(std::make_shared<Progress>()),
      // A tenth in hand, since the number is a guess.
      part_bytes_(static_cast<size_t>(
          std::max(kLeastPartBytes, expected_bytes / (kMaxParts * 9 / 10) + 1))) {}

S3Upload::~S3Upload() {
  if (is_finished_) return;
  std::unique_lock lock(progress_->mutex);
  progress_->has_changed.wait(lock, [&] { return progress_->num_underway == 0; });
  lock.unlock();
  if (!upload_id_.empty()) abort();
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
  S3Call call;
  call.method = "POST";
  call.key = key_;
  call.query = "uploads";
  call.headers = {"Content-Type: application/octet-stream"};
  const HttpResponse response = requests_->fetch(call);
  if (!response.is_success()) throw requests_->failure(response, key_, "written");
  try {
    upload_id_ = parse_upload_id(response.body);
  } catch (const Error& e) {
    throw e.within({.path = requests_->address_of(key_)});
  }
}

void S3Upload::send_part() {
  if (upload_id_.empty()) begin();
  wait_for(kMaxPartsUnderway - 1);
  if (++num_parts_ > kMaxParts) {
    throw error_at(requests_->address_of(key_), ErrorCode::unsupported,
                   "has more than {} parts of {} MiB", kMaxParts, part_bytes_ >> 20);
  }
  const auto part = std::make_shared<std::vector<std::byte>>(std::exchange(part_, {}));
  S3Call call;
  call.method = "PUT";
  call.key = key_;
  call.query = fmt::format("partNumber={}&uploadId={}", num_parts_, percent_encoded(upload_id_));
  call.body = *part;
  {
    const std::lock_guard lock(progress_->mutex);
    ++progress_->num_underway;
  }
  const auto done = [part, number = num_parts_, progress = progress_, requests = requests_,
                     key = key_](const HttpResponse& response, std::exception_ptr error) {
    if (error == nullptr && !response.is_success()) {
      error = std::make_exception_ptr(requests->failure(response, key, "written"));
    }
    const std::lock_guard lock(progress->mutex);
    if (error == nullptr) {
      progress->etags[number] = response.header("etag");
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
  std::unique_lock lock(progress_->mutex);
  progress_->has_changed.wait(lock, [&] {
    return progress_->failure != nullptr || progress_->num_underway <= max_underway;
  });
  if (progress_->failure != nullptr) std::rethrow_exception(progress_->failure);
}

void S3Upload::finish() {
  if (upload_id_.empty()) {
    S3Call call;
    call.method = "PUT";
    call.key = key_;
    call.headers = {"Content-Type: application/octet-stream"};
    call.body = part_;
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
  for (const auto& [number, etag] : progress_->etags) {
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", number, etag);
  }
  body += "</CompleteMultipartUpload>";
  S3Call call;
  call.method = "POST";
  call.key = key_;
  call.query = "uploadId=" + percent_encoded(upload_id_);
  call.headers = {"Content-Type: application/xml"};
  call.body = std::as_bytes(std::span(body));
  call.stall_limit_s = kCompleteLimitS;
  call.is_sent_once = true;
  int num_sent = 0;
  const HttpResponse response = requests_->fetch(call, &num_sent);
  const Refusal refusal = refusal_of(response);
  // An earlier attempt has completed it, and its answer was lost.
  if (num_sent > 1 && refusal.code == "NoSuchUpload") {
    S3Call head;
    head.method = "HEAD";
    head.key = key_;
    if (requests_->fetch(head).is_success()) return;
  }
  if (!response.is_success() || !refusal.code.empty()) {
    throw requests_->failure(response, key_, "written");
  }
}

void S3Upload::abort() noexcept {
  try {
    S3Call call;
    call.method = "DELETE";
    call.key = key_;
    call.query = "uploadId=" + percent_encoded(upload_id_);
    requests_->fetch(call);
  } catch (...) {
    // The bucket's rules for unfinished uploads remove it.
  }
}

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

// Without slashes at its end; empty for the bucket.
std::string folder_key(const std::string& address) {
  std::string key = parse_address(address).path;
  while (key.ends_with('/')) key.pop_back();
  return key;
}

ObjectFacts facts_of(const HttpResponse& response, const std::string& address) {
  const std::optional<int64_t> length = response.number("content-length");
  if (!length) throw error_at(address, ErrorCode::io, "the store does not say how long it is");
  return {*length, std::string(response.header("etag"))};
}

class S3Store : public ObjectStore {
 public:
  S3Store(S3Settings settings, std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
      : requests_(std::make_shared<S3Requests>(std::move(settings), std::move(client), policy)) {}

  std::string read_all(const std::string& address, int64_t max_bytes) override;
  std::optional<ObjectFacts> find(const std::string& address) override;
  Listing list(const std::string& address, bool recursive) override;
  bool put(const std::string& address, std::span<const std::byte> bytes, bool only_if_new) override;
  std::unique_ptr<Upload> upload(const std::string& address, int64_t expected_bytes) override;
  void remove(const std::string& address) override;
  std::vector<UnfinishedUpload> list_uploads(const std::string& address) override;
  void abort_upload(const UnfinishedUpload& upload) override;

 protected:
  void read_range(const std::string& address, int64_t offset, std::span<std::byte> into,
                  const std::string& version, std::shared_ptr<std::string> found,
                  Done done) override;

 private:
  std::optional<ObjectFacts> find_key(const std::string& key);
  // Calls `take` with the body of each page of a listing; it gives what the query of the next page
  // has besides `query`, nothing after the last one.
  template <typename TakePage>
  void read_pages(const std::string& folder, const std::string& query, const char* done,
                  const TakePage& take);
  // True: the object is there, and has these bytes.
  bool has_bytes(const std::string& key, std::span<const std::byte> bytes);

  const std::shared_ptr<S3Requests> requests_;
};

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
  if (!response.is_success()) throw requests_->failure(response, key, "read");
  return std::move(response.body);
}

std::optional<ObjectFacts> S3Store::find_key(const std::string& key) {
  S3Call call;
  call.method = "HEAD";
  call.key = key;
  const HttpResponse response = requests_->fetch(call);
  if (response.status == 404) return std::nullopt;
  if (!response.is_success()) throw requests_->failure(response, key, "looked for");
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
  S3Call call;
  call.query = query;
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
      throw error_at(requests_->address_of(folder), ErrorCode::io,
                     "the store gives the same part of the listing again and again");
    }
    call.query = query + next;
  }
}

Listing S3Store::list(const std::string& address, bool recursive) {
  const std::string folder = folder_key(address);
  const std::string query = "list-type=2&encoding-type=url" +
                            std::string(recursive ? "" : "&delimiter=%2F") +
                            (folder.empty() ? "" : "&prefix=" + percent_encoded(folder + "/"));
  Listing listing;
  read_pages(folder, query, "listed", [&](const std::string& body) {
    ListPage page = parse_list_page(body);
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
    return page.next.empty() ? "" : "&continuation-token=" + percent_encoded(page.next);
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
  if (!response.is_success()) throw requests_->failure(response, key, "written");
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
  S3Call call;
  call.method = "DELETE";
  call.key = key;
  call.query = "uploadId=" + percent_encoded(upload.id);
  const HttpResponse response = requests_->fetch(call);
  if (!response.is_success() && response.status != 404) {
    throw requests_->failure(response, key, "given up");
  }
}

}  // namespace

std::shared_ptr<ObjectStore> make_s3_store(S3Settings settings, std::shared_ptr<HttpClient> client,
                                           const RequestPolicy& policy) {
  return std::make_shared<S3Store>(std::move(settings), std::move(client), policy);
}

}  // namespace ffkit
