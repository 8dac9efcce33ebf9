// S3Requests: requests to one bucket, each signed when it is sent. They are repeated when the
// store's answer says in which region the bucket is, or that the credentials have ended and there
// are others. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/answers.h"
#include "protocol/s3_settings.h"
#include "requests/requests.h"

namespace ffkit {

struct S3Call {
  std::string method = "GET";
  std::string key = {};    // of the object; empty for the bucket
  std::string query = {};  // encoded: "list-type=2&prefix=a"
  std::vector<std::string> headers = {};
  std::span<const std::byte> body = {};  // stays until the call is done
  int64_t max_body_bytes = 64 << 20;
  double stall_limit_s = 30;
  // Each attempt is one that `num_sent` counts (HttpRequest::is_sent_once).
  bool is_sent_once = false;
};

class S3Requests {
 public:
  S3Requests(S3Settings settings, std::shared_ptr<HttpClient> client, const RequestPolicy& policy);

  const S3Settings& settings() const { return state_->settings; }
  std::string address_of(std::string_view key) const;

  // Waits for an answer that is not to be repeated, whatever its status. `num_sent` becomes the
  // number of requests that it took.
  HttpResponse fetch(const S3Call& call, int* num_sent = nullptr);
  void send(const S3Call& call, Requester::Done done);
  // Bytes of the object `key`, whose address need not be set, as Requester::read_range(). Errors
  // are those of failure().
  void read_range(const std::string& key, RangeOfObject range, Requester::RangeDone done);

  // The error of an answer that is no success.
  Error failure(const HttpResponse& response, const std::string& key, std::string_view done) const;

  RequestStatistics statistics() const { return requester_->statistics(); }

 private:
  struct State {
    S3Settings settings;
    mutable std::mutex mutex;
    std::string region;  // where the bucket is
  };
  // Of one call, whose attempts may be several at once.
  struct Attempts {
    std::mutex mutex;
    Authorizer::Used used;
    int num_made = 0;
    int num_renewals = 0;
    int num_moves = 0;
  };

  static HttpRequest make(State& state, const S3Call& call, Attempts& attempts);
  static Verdict judge(State& state, Attempts& attempts, const HttpResponse& response);
  static Failure failure_in(const State& state, const HttpResponse& response);

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Requester> requester_;
};

}  // namespace ffkit
