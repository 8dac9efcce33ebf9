// Requester: repeats and limits what goes to one store, and asks a second time for what takes too
// long.
//
//   send() ─▶ (too many in flight: queue) ─▶ make() ─▶ HttpClient ─▶ judge() ─▶ done()
//                        ▲                                             │
//                        └──────────── wait, the longer the more ◀─────┘ repeat
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "http/http_client.h"
#include "requests/verdict.h"

namespace ffkit {

struct RequestPolicy {
  // Attempts begin within so many seconds of the first one, or of the last one that brought bytes.
  // 0: there is one attempt.
  double retry_s = 300;
  int max_attempts = 0;  // the first among them; 0: as many as `retry_s` allows
  // A request that has failed for so long says once, on stderr, that it is repeated.
  double say_after_s = 5;
  // Before the second attempt at most; twice as long before each further one, of which a random
  // part is waited (full jitter).
  double first_backoff_s = 0.1;
  double max_backoff_s = 16;
  // Between them the number of requests in flight is adapted to the store; it begins with the most.
  int max_in_flight = 64;
  int min_in_flight = 1;
  // A range is asked for a second time after `hedge_factor` times the quantile of the last ranges
  // of its size, and `hedge_min_s`. Nothing is before `hedge_min_samples` of that size, and of a
  // share of all ranges at most. A share of 0: never.
  double hedge_share = 0.05;
  double hedge_quantile = 0.95;
  double hedge_factor = 3;
  double hedge_min_s = 0.5;
  int hedge_min_samples = 20;
};

struct RequestStatistics {
  int64_t requests = 0;  // sent, with repeats and second ones
  int64_t bytes = 0;     // of bodies, those that were of no use among them
  int64_t retries = 0;
  int64_t throttled = 0;  // answers that were to ask for less
  int64_t hedges = 0;     // second requests
  int64_t hedges_won = 0;
  int64_t failures = 0;  // what ended with an error
  int64_t connections = 0;
  int in_flight = 0;
  int in_flight_limit = 0;
};

// Thread-safe. Belongs to its process: in a child of fork() everything fails, and destroying it
// does nothing.
class Requester {
 public:
  // Makes the request of an attempt, 1 being the first, so that signatures and credentials are of
  // the moment. Called in the caller's thread or in one of the Requester's own, never in the
  // client's: it may wait for other requests of the client. May be called after the caller's
  // function has returned, until `done` is. What it throws ends the request.
  using MakeRequest = std::function<HttpRequest(int attempt)>;
  // Null: there is an answer that is done. Otherwise the response is the last one. Called once, in
  // any thread, and must be short; it may call send() and read_range(). Not called when the
  // function it was given to throws.
  using Done = std::function<void(HttpResponse, std::exception_ptr)>;
  using RangeDone = std::function<void(std::exception_ptr)>;

  explicit Requester(std::shared_ptr<HttpClient> client, const RequestPolicy& policy = {});
  // Ends what is running with Error(cancelled), and waits until every `done` has returned. Not from
  // a `done`.
  ~Requester();
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // Sends a request until `judge` says that it is done or failed, and Error(io) after the last
  // attempt, as the policy has it. Connections that are cut are repeated without asking `judge`,
  // whatever the method: of a write the store may have had it all.
  void send(const std::string& address, MakeRequest make, Judge judge, Done done);
  // The same, waiting, unless a WaitCheck ends that. Not from a `done`.
  HttpResponse fetch(const std::string& address, MakeRequest make, Judge judge = judge_by_status);

  // Reads a part of an object. `make` makes the request for the whole object; Range, If-Match and
  // `into` are added to it. `judge` is asked about answers that are neither 200 nor 206; what it
  // says is done is an error:
  //
  //   404                                                not_found
  //   412, or an answer of another version               corrupt: the object changed
  //   416, or a shorter object                           corrupt
  //   200 with more than was asked for                   unsupported: the server ignores ranges
  //   a wrong range, or too few bytes, in all attempts   io
  //   another status                                     io
  //
  // After a cut connection only the rest is asked for. `range.into` stays until `done`, and nothing
  // is written to it afterwards.
  void read_range(const RangeOfObject& range, MakeRequest make, Judge judge, RangeDone done);
  // The same, waiting, unless a WaitCheck ends that. Not from a `done`.
  void read_range(const RangeOfObject& range, MakeRequest make, Judge judge = judge_by_status);

  RequestStatistics statistics() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace ffkit
