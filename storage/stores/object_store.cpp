#include "stores/object_store.h"

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "addresses/place.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "http/http_client.h"
#include "protocol/s3_settings.h"
#include "stores/arriving.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

constexpr double kMostRetrySeconds = 366 * 86400.0;

// Who asks, with the options of one mark.
struct Asker {
  explicit Asker(int mark) : surroundings(surroundings_of_mark(mark)) {}

  Surroundings surroundings;
  AwsChain aws = std::make_shared<Renewed<AwsCredentials>>(
      [s = surroundings] { return find_aws_credentials(s); }, surroundings.now);
  GoogleChain google = std::make_shared<Renewed<BearerToken>>(
      [s = surroundings] { return find_google_token(s); }, surroundings.now);
};

// The stores of a process.
struct Stores {
  pid_t process = getpid();
  // Those of the process that this one was forked from: never touched again, but not lost.
  Stores* before = nullptr;
  std::mutex mutex;
  std::map<int, std::unique_ptr<Asker>> by_mark;
  std::map<std::string, std::shared_ptr<ObjectStore>> by_place;
};

// They stay until the process ends: requests may be underway then.
Stores& stores_of_process() {
  static std::atomic<Stores*> last = nullptr;
  Stores* found = last.load();
  while (found == nullptr || found->process != getpid()) {
    auto fresh = std::make_unique<Stores>();
    fresh->before = found;
    if (last.compare_exchange_strong(found, fresh.get())) return *fresh.release();
  }
  return *found;
}

// FFKIT_RETRY_SECONDS: how long a store that does not answer is asked again.
RequestPolicy policy_of(const Surroundings& surroundings) {
  constexpr const char* kVariable = "FFKIT_RETRY_SECONDS";
  RequestPolicy policy;
  const std::string text = surroundings.variable(kVariable);
  if (text.empty()) return policy;
  policy.retry_s = number_of_text<double>(text).value_or(-1);
  if (!(policy.retry_s >= 0) || policy.retry_s > kMostRetrySeconds) {
    throw argument_error(kVariable,
                         fmt::format("retry_seconds ({}) is '{}'; expected seconds from 0 to {}",
                                     kVariable, printable(text), kMostRetrySeconds));
  }
  return policy;
}

std::shared_ptr<ObjectStore> make_store(const Address& address, const Asker& asker) {
  const RequestPolicy policy = policy_of(asker.surroundings);
  switch (address.scheme) {
    case Scheme::file:
      return make_file_store();
    case Scheme::hf:
      return make_hf_store(asker.surroundings, policy);
    case Scheme::https:
    case Scheme::http:
      return make_http_store(process_http_client(), policy);
    case Scheme::s3:
      return make_s3_store(s3_settings(address.place, asker.surroundings, asker.aws),
                           process_http_client(), policy);
    case Scheme::r2:
      return make_s3_store(r2_settings(address.place, asker.surroundings, asker.aws),
                           process_http_client(), policy);
    case Scheme::az:
      return make_azure_store(address.place, asker.surroundings, process_http_client(), policy);
    case Scheme::gs:
      return make_s3_store(gs_settings(address.place, asker.surroundings, asker.google),
                           process_http_client(), policy);
  }
  return nullptr;
}

}  // namespace

void ObjectStore::read(const std::string& address, int64_t offset, std::span<std::byte> into,
                       const ObjectFacts& known) {
  const auto arriving = std::make_shared<Arriving>(into.size());
  read(address, offset, arriving->bytes, known, tells(arriving));
  arriving->copy(into);
}

std::string ObjectStore::read_latest(const std::string& address, int64_t offset,
                                     std::span<std::byte> into, int64_t num_bytes) {
  const auto arriving = std::make_shared<Arriving>(into.size());
  const std::shared_ptr<std::string> found(arriving, &arriving->version);
  read_latest(address, offset, arriving->bytes, num_bytes, found, tells(arriving));
  arriving->copy(into);
  return arriving->version;
}

std::shared_ptr<ObjectStore> store_of(const std::string& address) {
  const Address parts = parse_address(address);
  // The hub is one place, whichever data set; a scheme and its bucket or host another each, and
  // with other options another one.
  std::string place = fmt::format("{} {} ", parts.mark, static_cast<int>(parts.scheme));
  if (parts.scheme != Scheme::hf) place += parts.place;
  Stores& stores = stores_of_process();
  const std::lock_guard lock(stores.mutex);
  std::shared_ptr<ObjectStore>& store = stores.by_place[place];
  if (store != nullptr) return store;
  std::unique_ptr<Asker>& asker = stores.by_mark[parts.mark];
  if (asker == nullptr) asker = std::make_unique<Asker>(parts.mark);
  return store = make_store(parts, *asker);
}

}  // namespace ffkit
