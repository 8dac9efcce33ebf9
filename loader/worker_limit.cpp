#include "worker_limit.h"

#include <tbb/global_control.h>
#include <tbb/info.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>

namespace ffkit {
namespace {

struct SharedRequest {
  std::mutex mutex;
  int num_threads = 0;
  std::optional<tbb::global_control> control;

  void change(int difference) {
    std::lock_guard lock(mutex);
    num_threads += difference;
    control.reset();
    if (num_threads == 0) return;
    const int limit = std::max(num_threads + 1, tbb::info::default_concurrency());
    control.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(limit));
  }
};

SharedRequest& shared_request() {
  static SharedRequest request;
  return request;
}

}  // namespace

WorkerLimit::WorkerLimit(int num_threads) : num_threads_(num_threads) {
  shared_request().change(num_threads_);
}

WorkerLimit::~WorkerLimit() {
  shared_request().change(-num_threads_);
}

}  // namespace ffkit
