// The kinds of stores, of which store_of() gives one a place. Tests make their own.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/error.h>

#include "credentials/surroundings.h"
#include "protocol/s3_settings.h"
#include "requests/requests.h"
#include "stores/object_store.h"

namespace ffkit {

// Local files by addresses: file:///data/set. Objects appear by a rename; folders are made where
// they are missing.
std::shared_ptr<ObjectStore> make_file_store();

// A bucket of S3, of a store with its API, or of Google's Cloud Storage by its XML API.
std::shared_ptr<ObjectStore> make_s3_store(S3Settings settings, std::shared_ptr<HttpClient> client,
                                           const RequestPolicy& policy = {});

// A container of Azure's Blob Storage; `place` is "ACCOUNT/CONTAINER". Defined in azure/, which
// stands on this folder.
std::shared_ptr<ObjectStore> make_azure_store(const std::string& place,
                                              const Surroundings& surroundings,
                                              std::shared_ptr<HttpClient> client,
                                              const RequestPolicy& policy = {});

// Files of a web server: ranges and sizes. Nothing is listed or written there.
std::shared_ptr<ObjectStore> make_http_store(std::shared_ptr<HttpClient> client,
                                             const RequestPolicy& policy = {});

// Data sets of the Hugging Face hub, whose token and endpoint are looked for in the surroundings.
// The hub says once where a file is; ranges are then read from that signed address until it ends,
// without the hub's limits on requests. The token goes to the hub alone.
std::shared_ptr<ObjectStore> make_hf_store(const Surroundings& surroundings,
                                           const RequestPolicy& policy = {});

// A store that is read and never written.
class ReadOnlyStore : public ObjectStore {
 public:
  bool put(const std::string& address, std::span<const std::byte> /*bytes*/,
           bool /*only_if_new*/) override {
    throw no_writing(address);
  }
  std::unique_ptr<Upload> upload(const std::string& address, int64_t /*expected_bytes*/) override {
    throw no_writing(address);
  }
  void remove(const std::string& address) override { throw no_writing(address); }
  std::vector<UnfinishedUpload> list_uploads(const std::string& address) override {
    throw no_writing(address);
  }
  void abort_upload(const UnfinishedUpload& upload) override { throw no_writing(upload.address); }

 protected:
  // An Error(unsupported), with what to do instead.
  virtual Error no_writing(const std::string& address) const = 0;
};

// What fails when a read is begun is told by `done`, as what fails later. `begin` must not have
// called `done` where it throws.
template <typename Begin>
void begin_read(const ObjectStore::Done& done, const Begin& begin) {
  try {
    begin();
  } catch (...) {
    done(std::current_exception());
  }
}

}  // namespace ffkit
