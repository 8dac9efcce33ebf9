#include "stores/hf_store.h"

#include <utility>

#include "addresses/address.h"
#include "base/make_error.h"
#include "stores/told.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxRefusalBytes = 1 << 20;

[[noreturn]] void refuse_to_write(const std::string& address) {
  throw Error(ErrorCode::unsupported, "ffkit does not write to the Hugging Face hub",
              {.path = address,
               .subject = ErrorSubject::argument,
               .remedy = "write to a folder, and upload it by `hf upload-large-folder`"});
}

Error missing_file(const std::string& address) {
  return {ErrorCode::not_found,
          "cannot be read: it is not there",
          {.path = address, .remedy = "check its name"}};
}

// Of one read, whose attempts may be several at once.
struct HfAttempts {
  std::mutex mutex;
  HfHub::Pointer used;
  int num_renewals = 0;
};

// Makes the request for a file, by the hub's last word.
Requester::MakeRequest maker_of(const std::shared_ptr<HfHub>& hub,
                                const std::shared_ptr<HfAttempts>& attempts,
                                const std::string& address, const std::string& version,
                                int64_t max_body_bytes) {
  return [=](int) {
    HfHub::Pointer resolved = hub->resolve(address);
    if (resolved == nullptr) throw missing_file(address);
    if (!version.empty() && resolved->facts.version != version) {
      throw error_at(address, ErrorCode::corrupt, "was changed meanwhile; open it again");
    }
    HttpRequest request = hub->request_of(*resolved);
    request.max_body_bytes = max_body_bytes;
    // Signed addresses may lead on to a nearer host.
    request.follow_redirects = resolved->is_elsewhere;
    const std::lock_guard lock(attempts->mutex);
    attempts->used = std::move(resolved);
    return request;
  };
}

// A signed address that is refused has ended: the hub is asked for another one.
Judge judge_of(const std::shared_ptr<HfHub>& hub, const std::shared_ptr<HfAttempts>& attempts,
               const std::string& address) {
  return [=](const HttpResponse& response) {
    Verdict verdict = judge_by_status(response);
    if (verdict.kind != Verdict::Kind::done || response.status < 400 || response.status == 412 ||
        response.status == 416) {
      return verdict;
    }
    const std::lock_guard lock(attempts->mutex);
    const bool may_have_ended = attempts->used != nullptr && attempts->used->is_elsewhere;
    if (may_have_ended && ++attempts->num_renewals <= 2) {
      hub->forget(address, attempts->used);
      verdict.kind = Verdict::Kind::repeat;
      return verdict;
    }
    verdict.kind = Verdict::Kind::fail;
    verdict.error = std::make_exception_ptr(hub->failure(response, address, "read"));
    return verdict;
  };
}

}  // namespace

HfStore::HfStore(const Surroundings& surroundings, const RequestPolicy& policy)
    : hub_(std::make_shared<HfHub>(surroundings, policy)),
      files_(std::make_shared<Requester>(surroundings.client(), policy)) {}

void HfStore::read_range(const std::string& address, int64_t offset, std::span<std::byte> into,
                         const std::string& version, std::shared_ptr<std::string> found,
                         Done done) {
  if (into.empty()) {
    done(nullptr);
    return;
  }
  const auto attempts = std::make_shared<HfAttempts>();
  RangeOfObject range;
  range.address = address;
  range.offset = offset;
  range.into = into;
  // The version is that of the hub, which the other host may write differently: compared above.
  begin_read(done, [&] {
    files_->read_range(range, maker_of(hub_, attempts, address, version, kMaxRefusalBytes),
                       judge_of(hub_, attempts, address),
                       [attempts, found, done](std::exception_ptr error) {
                         if (found != nullptr && error == nullptr) {
                           const std::lock_guard lock(attempts->mutex);
                           *found = attempts->used->facts.version;
                         }
                         done(std::move(error));
                       });
  });
}

std::string HfStore::read_all(const std::string& address, int64_t max_bytes) {
  hub_->resolve_anew(address);  // a branch may have moved on since
  const auto attempts = std::make_shared<HfAttempts>();
  HttpResponse response = files_->fetch(address, maker_of(hub_, attempts, address, "", max_bytes),
                                        judge_of(hub_, attempts, address));
  return std::move(response.body);
}

std::optional<ObjectFacts> HfStore::find(const std::string& address) {
  if (parse_address(address).path.empty()) return std::nullopt;
  const HfHub::Pointer resolved = hub_->resolve_anew(address);
  if (resolved == nullptr) return std::nullopt;
  return resolved->facts;
}

Listing HfStore::list(const std::string& address, bool recursive) {
  return hub_->list(address, recursive);
}

bool HfStore::put(const std::string& address, std::span<const std::byte> /*bytes*/,
                  bool /*only_if_new*/) {
  refuse_to_write(address);
}

std::unique_ptr<Upload> HfStore::upload(const std::string& address, int64_t /*expected_bytes*/) {
  refuse_to_write(address);
}

void HfStore::remove(const std::string& address) {
  refuse_to_write(address);
}

std::vector<UnfinishedUpload> HfStore::list_uploads(const std::string& address) {
  refuse_to_write(address);
}

void HfStore::abort_upload(const UnfinishedUpload& upload) {
  refuse_to_write(upload.address);
}

}  // namespace ffkit
