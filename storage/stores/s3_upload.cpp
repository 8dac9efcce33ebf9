#include "stores/s3_upload.h"

#include <algorithm>
#include <utility>

#include "addresses/percent.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr int64_t kLeastPartBytes = 16 << 20;
constexpr int kMaxParts = 10'000;
constexpr int kMaxPartsUnderway = 4;
constexpr double kCompleteLimitS = 300;

bool is_stored(const HttpResponse& response) {
  return response.status >= 200 && response.status < 300;
}

}  // namespace

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
  if (!is_stored(response)) throw requests_->failure(response, key_, "written");
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
    if (error == nullptr && !is_stored(response)) {
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
    if (!is_stored(response)) throw requests_->failure(response, key_, "written");
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
    if (is_stored(requests_->fetch(head))) return;
  }
  if (!is_stored(response) || !refusal.code.empty()) {
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

}  // namespace ffkit
