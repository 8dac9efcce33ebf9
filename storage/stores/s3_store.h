// Buckets of S3, of stores with its API, and of Google's Cloud Storage by its XML API.
#pragma once

#include <memory>

#include "protocol/s3_requests.h"
#include "stores/object_store.h"

namespace ffkit {

class S3Store : public ObjectStore {
 public:
  S3Store(S3Settings settings, std::shared_ptr<HttpClient> client,
          const RequestPolicy& policy = {});

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
  // True: the object is there, and has these bytes.
  bool has_bytes(const std::string& key, std::span<const std::byte> bytes);

  const std::shared_ptr<S3Requests> requests_;
};

}  // namespace ffkit
