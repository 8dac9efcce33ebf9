// The store of a bucket, and uploads to it, by S3's protocol. Stores with buckets and another
// protocol (Azure's) derive from these.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "protocol/s3_requests.h"
#include "stores/object_store.h"

namespace ffkit {

// A store may make one object of many parts for so long before it answers.
constexpr double kCompleteLimitS = 300;

// A multipart upload. At most four parts are underway, and a fifth is filled: 80 MiB. What is
// smaller than a part is written at once.
class S3Upload : public Upload {
 public:
  S3Upload(std::shared_ptr<S3Requests> requests, std::string key, int64_t expected_bytes);
  ~S3Upload() override { give_up(); }
  S3Upload(const S3Upload&) = delete;
  S3Upload& operator=(const S3Upload&) = delete;

  void add(std::span<const std::byte> bytes) override;
  void finish() override;

 protected:
  // Sets upload_id_.
  virtual void begin();
  virtual S3Call part_call(int number) const;
  virtual void complete();
  virtual void abort();
  // Waits for what is underway, and aborts what is not finished. For destructors.
  void give_up() noexcept;

  // Shared with the answers of parts.
  struct Progress {
    std::mutex mutex;
    std::condition_variable has_changed;
    int num_underway = 0;
    struct Part {
      std::string etag;
      std::string crc32c;
    };
    std::map<int, Part> parts;  // by number
    std::exception_ptr failure;
  };

  const std::shared_ptr<S3Requests> requests_;
  const std::string key_;
  const std::shared_ptr<Progress> progress_;
  std::string upload_id_;  // empty before the first part is sent

 private:
  void send_part();
  // Waits until at most so many parts are underway. Throws what failed.
  void wait_for(int max_underway);
  // Parts that are underway have their own memory, so that a WaitCheck may end it.
  template <typename IsDone>
  void wait_until(const IsDone& is_done);

  size_t part_bytes_;
  std::vector<std::byte> part_;
  int num_parts_ = 0;
  bool is_finished_ = false;
};

class S3Store : public ObjectStore {
 public:
  S3Store(S3Settings settings, std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
      : requests_(std::make_shared<S3Requests>(std::move(settings), std::move(client), policy)) {}

  std::string read_all(const std::string& address, int64_t max_bytes) override;
  std::optional<ObjectFacts> find(const std::string& address) override;
  Listing list(const std::string& address, bool recursive) override;
  bool put(const std::string& address, std::span<const std::byte> bytes, bool only_if_new) override;
  std::unique_ptr<Upload> upload(const std::string& address, int64_t expected_bytes) override;
  void remove(const std::string& address) override;
  std::vector<UnfinishedUpload> list_uploads(const std::string& address) override;
  void abort_upload(const UnfinishedUpload& upload) override;

 protected:
  void read_range(RangeOfObject range, Done done) override;

  // How keys are listed: the query, what stands before the next page's token in it, and its reader.
  struct KeyPages {
    std::string query;
    std::string next;
    ListPage (*parse)(std::string_view body);
  };
  virtual KeyPages key_pages() const;
  // With `more` in the query.
  Listing list_by(const std::string& address, const std::string& more);

  const std::shared_ptr<S3Requests> requests_;

 private:
  std::optional<ObjectFacts> find_key(const std::string& key);
  // Calls `take` with the body of each page of a listing; it gives what the query of the next page
  // has besides `query`, nothing after the last one.
  template <typename TakePage>
  void read_pages(const std::string& folder, const std::string& query, const char* done,
                  const TakePage& take);
  // True: the object is there, and has these bytes.
  bool has_bytes(const std::string& key, std::span<const std::byte> bytes);
};

// The key of an object. Throws Error(invalid_argument) where an address names a bucket alone.
std::string key_of(const std::string& address);

}  // namespace ffkit
