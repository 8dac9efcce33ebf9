// The stores of a process.
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "addresses/address.h"
#include "http/http_client.h"
#include "protocol/s3_settings.h"
#include "stores/file_store.h"
#include "stores/hf_store.h"
#include "stores/http_store.h"
#include "stores/object_store.h"
#include "stores/s3_store.h"

namespace ffkit {
namespace {

struct Stores {
  pid_t process = getpid();
  // Those of the process that this one was forked from: never touched again, but not lost.
  Stores* before = nullptr;
  Surroundings surroundings = process_surroundings();
  AwsChain aws = std::make_shared<Renewed<AwsCredentials>>(
      [s = surroundings] { return find_aws_credentials(s); }, surroundings.now);
  GoogleChain google = std::make_shared<Renewed<BearerToken>>(
      [s = surroundings] { return find_google_token(s); }, surroundings.now);
  std::mutex mutex;
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

std::shared_ptr<ObjectStore> make_store(const Address& address, const Stores& stores) {
  switch (address.scheme) {
    case Scheme::file:
      return std::make_shared<FileStore>();
    case Scheme::hf:
      return std::make_shared<HfStore>(stores.surroundings);
    case Scheme::https:
    case Scheme::http:
      return std::make_shared<HttpStore>(process_http_client());
    case Scheme::s3:
      return std::make_shared<S3Store>(s3_settings(address.place, stores.surroundings, stores.aws),
                                       process_http_client());
    case Scheme::gs:
      return std::make_shared<S3Store>(
          gs_settings(address.place, stores.surroundings, stores.google), process_http_client());
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<ObjectStore> store_of(const std::string& address) {
  const Address parts = parse_address(address);
  // The hub is one place, whichever data set; a scheme and its bucket or host another each.
  std::string place = std::to_string(static_cast<int>(parts.scheme));
  if (parts.scheme != Scheme::hf) place += parts.place;
  Stores& stores = stores_of_process();
  const std::lock_guard lock(stores.mutex);
  std::shared_ptr<ObjectStore>& store = stores.by_place[place];
  if (store == nullptr) store = make_store(parts, stores);
  return store;
}

}  // namespace ffkit
