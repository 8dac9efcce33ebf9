// Local files by addresses: file:///data/set. Objects appear by a rename; folders are made where
// they are missing.
#pragma once

#include "stores/object_store.h"

namespace ffkit {

class FileStore : public ObjectStore {
 public:
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
};

}  // namespace ffkit
