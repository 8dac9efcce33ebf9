// RequestJob: a request of a Requester from send() to `done`, over all attempts. And what an
// attempt came to.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <ffkit/base/error.h>

#include "requests/requests.h"

namespace ffkit {

struct RequestJob;
using RequestJobPtr = std::shared_ptr<RequestJob>;

struct RequestTimer {
  enum class Kind : uint8_t { retry, hedge };
  Kind kind = Kind::retry;
  RequestJobPtr job;
};
using RequestTimers = std::multimap<std::chrono::steady_clock::time_point, RequestTimer>;

struct RequestJob {
  // A request in flight. Of a range there may be two.
  struct Side {
    bool is_active = false;
    bool is_making = false;  // of the second: `make` is being called
    uint64_t ticket = 0;
    uint32_t limit_generation = 0;
  };

  std::string address;
  Requester::MakeRequest make;
  Judge judge;
  Requester::Done done;             // of send()
  Requester::RangeDone range_done;  // of read_range()

  // Of a range: how much is there from its begin on, and the version of that, where any is wanted.
  std::optional<RangeOfObject> range;
  int64_t num_there = 0;
  std::string version_there;

  int attempt = 0;
  std::chrono::steady_clock::time_point begin;  // of the patience with the store
  Side first, second;
  // The second request has memory of its own: the caller's may be in other hands when it ends.
  std::unique_ptr<std::byte[]> second_into;
  std::optional<RequestTimers::iterator> hedge_timer;
  // It is known how it ends, and nothing further is to be sent.
  bool is_over = false;
  bool is_cancelled = false;     // and fails with the next answer
  bool is_second_ahead = false;  // and ends when the first one has, which writes to the same bytes
  bool waits_for_make = false;   // and ends when the second one's `make` has returned
  std::exception_ptr error;

  AskedRange asked() const;
  std::span<std::byte> rest() const { return range->into.subspan(static_cast<size_t>(num_there)); }
  // What is the request of an attempt; calls `make`.
  HttpRequest request(bool is_second) const;
  // Tells the caller.
  void tell(HttpResponse response);
};

// What an answer means for the job.
struct AttemptResult {
  enum class Kind : uint8_t { done, repeat, fail };
  Kind kind = Kind::done;
  double wait_s = 0;
  bool is_throttled = false;
  std::exception_ptr error;
  std::string reason;              // of a repeat
  int64_t num_good = 0;            // of a range, from its begin on
  std::string version;             // of what is good
  bool is_of_any_version = false;  // a range that begins anew
};
// Asks `judge`; throws nothing.
AttemptResult result_of(const RequestJob& job, const HttpResponse& response);

Error last_attempt_failed(const RequestJob& job, const AttemptResult& result);
std::exception_ptr requester_ended(const std::string& address);

}  // namespace ffkit
