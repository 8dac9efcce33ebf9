// Data sets of the Hugging Face hub. The hub says once where a file is; ranges are then read from
// that signed address until it ends, without the hub's limits on requests. The token goes to the
// hub alone.
#pragma once

#include <memory>
#include <string>

#include "credentials/surroundings.h"
#include "requests/requests.h"
#include "stores/hf_hub.h"
#include "stores/object_store.h"

namespace ffkit {

class HfStore : public ObjectStore {
 public:
  // HF_TOKEN and HF_ENDPOINT are looked for in the surroundings.
  explicit HfStore(const Surroundings& surroundings, const RequestPolicy& policy = {});

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
  // Has a Requester of its own: its answers are waited for where requests of files are made.
  const std::shared_ptr<HfHub> hub_;
  const std::shared_ptr<Requester> files_;
};

}  // namespace ffkit
