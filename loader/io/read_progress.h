// ReadProgress: what to do after each system call of one read. Shared by the engines, so that they
// treat results alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <ffkit/loader/read_engine.h>

namespace ffkit {

// The request's own descriptor, or that of `files`.
inline int descriptor_of(const ReadRequest& request, const std::vector<int>& files) {
  return request.shard != nullptr ? request.shard->descriptor : files[request.file];
}

class ReadProgress {
 public:
  ReadProgress() = default;
  explicit ReadProgress(const ReadRequest& request) : request_(request) {}

  const ReadRequest& request() const { return request_; }
  // What is still to be read.
  int64_t offset() const { return request_.offset + static_cast<int64_t>(num_done_); }
  size_t num_bytes() const { return request_.num_bytes - num_done_; }
  std::byte* buffer() const { return request_.buffer + num_done_; }

  // Takes the result of a call that read offset(), num_bytes(), buffer(): bytes or -errno. True
  // when the read is over.
  bool advance(int64_t result, const ReadEngineOptions& options);
  // Precondition: advance() returned true.
  ReadCompletion completion() const { return {request_.tag, result_, error_}; }
  // The read is over, whatever calls there were.
  void finish(int64_t result, std::exception_ptr error) {
    result_ = result;
    error_ = std::move(error);
  }

 private:
  ReadRequest request_;
  size_t num_done_ = 0;
  int num_failures_ = 0;
  int num_repeats_ = 0;  // since the last bytes
  int64_t result_ = 0;
  std::exception_ptr error_;
};

}  // namespace ffkit
