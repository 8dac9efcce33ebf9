// Azure's Blob Storage: what differs from S3's protocol.
#include <fmt/format.h>

#include <random>
#include <set>
#include <utility>

#include "addresses/url.h"
#include "azure/azure_settings.h"
#include "signing/signature.h"
#include "stores/s3_store.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

// Blocks go with a blob that takes their place. Not where there is a blob already, which they were
// to replace: Azure drops them after a week.
void drop_blocks(S3Requests& requests, const std::string& key) {
  const std::string if_none = requests.settings().create_only;
  const HttpResponse made = requests.fetch({.method = "PUT", .key = key, .headers = {if_none}});
  if (made.status == 409 || made.status == 412) return;
  if (!made.is_success()) throw requests.failure(made, key, "aborted");
  const std::string if_same = "If-Match: " + std::string(made.header("etag"));
  const HttpResponse gone = requests.fetch({.method = "DELETE", .key = key, .headers = {if_same}});
  if (gone.is_success() || gone.status == 404 || gone.status == 412) return;
  throw requests.failure(gone, key, "aborted");
}

// Blocks are sent under names, which a list makes a blob.
class AzureUpload : public S3Upload {
 public:
  using S3Upload::S3Upload;
  ~AzureUpload() override { give_up(); }

 protected:
  // Another writer of the same name has other names of blocks.
  void begin() override {
    std::random_device random;
    upload_id_ = fmt::format("{:08x}{:08x}", random(), random());
  }
  S3Call part_call(int number) const override {
    return {.method = "PUT",
            .key = key_,
            .query = "comp=block&blockid=" + percent_encoded(name_of_block(number))};
  }
  void complete() override {
    std::string body = "<BlockList>";
    for (const auto& [number, part] : progress_->parts) {
      body += fmt::format("<Latest>{}</Latest>", name_of_block(number));
    }
    body += "</BlockList>";
    const std::vector<std::string> headers = {"Content-Type: application/xml",
                                              "x-ms-blob-content-type: application/octet-stream"};
    const HttpResponse response = requests_->fetch({.method = "PUT",
                                                    .key = key_,
                                                    .query = "comp=blocklist",
                                                    .headers = headers,
                                                    .body = std::as_bytes(std::span(body)),
                                                    .stall_limit_s = kCompleteLimitS});
    if (!response.is_success()) throw requests_->failure(response, key_, "written");
  }
  void abort() override { drop_blocks(*requests_, key_); }

 private:
  // All of a blob must be as long.
  std::string name_of_block(int number) const {
    return base64(fmt::format("{}-{:06}", upload_id_, number));
  }
};

class AzureStore : public S3Store {
 public:
  using S3Store::S3Store;

  std::unique_ptr<Upload> upload(const std::string& address, int64_t expected_bytes) override {
    return std::make_unique<AzureUpload>(requests_, key_of(address), expected_bytes);
  }
  // What is in a listing with unfinished blobs, and not in one without.
  std::vector<UnfinishedUpload> list_uploads(const std::string& address) override {
    Listing all = list_by(address, "&include=uncommittedblobs");
    std::set<std::string> finished;
    for (ListedObject& object : list_by(address, "").objects) finished.insert(object.address);
    std::vector<UnfinishedUpload> uploads;
    for (ListedObject& object : all.objects) {
      if (finished.contains(object.address)) continue;
      uploads.push_back({.address = std::move(object.address), .id = "blocks", .begun = {}});
    }
    return uploads;
  }
  void abort_upload(const UnfinishedUpload& upload) override {
    drop_blocks(*requests_, key_of(upload.address));
  }

 protected:
  KeyPages key_pages() const override {
    return {"restype=container&comp=list", "&marker=", parse_blob_page};
  }
};

}  // namespace

std::shared_ptr<ObjectStore> make_azure_store(const std::string& place,
                                              const Surroundings& surroundings,
                                              std::shared_ptr<HttpClient> client,
                                              const RequestPolicy& policy) {
  return std::make_shared<AzureStore>(azure_settings(place, surroundings), std::move(client),
                                      policy);
}

}  // namespace ffkit
