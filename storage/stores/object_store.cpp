#include "stores/object_store.h"

#include <unistd.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>

#include "addresses/place.h"
#include "http/http_client.h"
#include "protocol/s3_settings.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

// The stores of a process.
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
      return make_file_store();
    case Scheme::hf:
      return make_hf_store(stores.surroundings);
    case Scheme::https:
    case Scheme::http:
      return make_http_store(process_http_client());
    case Scheme::s3:
      return make_s3_store(s3_settings(address.place, stores.surroundings, stores.aws),
                           process_http_client());
    case Scheme::gs:
      return make_s3_store(gs_settings(address.place, stores.surroundings, stores.google),
                           process_http_client());
  }
  return nullptr;
}

}  // namespace

void ObjectStore::read(const std::string& address, int64_t offset, std::span<std::byte> into,
                       const std::string& version) {
  auto answer = std::make_shared<std::promise<void>>();
  std::future<void> result = answer->get_future();
  read(address, offset, into, version, [answer](std::exception_ptr error) {
    if (error == nullptr) {
      answer->set_value();
    } else {
      answer->set_exception(std::move(error));
    }
  });
  result.get();
}

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
