// S3Upload: a multipart upload. At most four parts are underway, and a fifth is filled: 80 MiB.
// What is smaller than a part is written at once.
#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protocol/s3_requests.h"
#include "stores/object_store.h"

namespace ffkit {

class S3Upload : public Upload {
 public:
  S3Upload(std::shared_ptr<S3Requests> requests, std::string key, int64_t expected_bytes);
  // Waits for what is underway, and aborts what is not finished.
  ~S3Upload() override;
  S3Upload(const S3Upload&) = delete;
  S3Upload& operator=(const S3Upload&) = delete;

  void add(std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  // Shared with the answers of parts.
  struct Progress {
    std::mutex mutex;
    std::condition_variable has_changed;
    int num_underway = 0;
    std::map<int, std::string> etags;  // by number
    std::exception_ptr failure;
  };

  void begin();
  void send_part();
  // Waits until at most so many parts are underway. Throws what failed.
  void wait_for(int max_underway);
  void complete();
  void abort() noexcept;

  const std::shared_ptr<S3Requests> requests_;
  const std::string key_;
  const std::shared_ptr<Progress> progress_;
  size_t part_bytes_;
  std::vector<std::byte> part_;
  std::string upload_id_;  // empty before the first part is sent
  int num_parts_ = 0;
  bool is_finished_ = false;
};

}  // namespace ffkit
