// Requester::State: the queue, the timers and the counts of a Requester, and its thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "requests/pace.h"
#include "requests/request_job.h"
#include "requests/requests.h"

namespace ffkit {

class Requester::State : public std::enable_shared_from_this<Requester::State> {
 public:
  State(std::shared_ptr<HttpClient> client, const RequestPolicy& policy);

  // Starts the thread.
  void start();
  void submit(RequestJobPtr job);
  // Ends it as a failure. Its `done` may come later.
  void cancel(const RequestJobPtr& job);
  // Ends everything, and waits.
  void stop();
  bool is_of_this_process() const;
  // Is never destroyed.
  void stay() { itself_ = shared_from_this(); }
  RequestStatistics statistics() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Launch {
    RequestJobPtr job;
    bool is_second = false;
  };

  void run();
  // What is to be sent now; nothing after waiting for something to happen. Under the lock.
  std::vector<Launch> next_launches(std::unique_lock<std::mutex>& lock);
  void take_due_timers(std::vector<Launch>& launches);
  bool may_start() const { return in_flight_ < limit_.value() && !is_stopping_; }
  void admit_first(RequestJob& job);
  bool admit_second(RequestJob& job);
  void watch(const RequestJobPtr& job);  // sets the timer of a second request
  void unwatch(RequestJob& job);
  RequestTimers::iterator set_timer(Clock::time_point when, RequestTimer timer);

  // Without the lock.
  void launch(const RequestJobPtr& job, bool is_second);
  void answered(const RequestJobPtr& job, bool is_second, HttpResponse response);
  void settle(const RequestJobPtr& job, bool is_second, AttemptResult result,
              HttpResponse response);
  void finish(const RequestJobPtr& job, HttpResponse response);
  // Of its requests that are in flight. Under the lock.
  static std::vector<uint64_t> tickets_of(const RequestJob& job);

  // Under the lock. True: the job is to be finished now.
  bool decide(const RequestJobPtr& job, bool is_second, AttemptResult& result, uint64_t& loser);
  bool retry_or_give_up(const RequestJobPtr& job, const AttemptResult& result);
  double backoff_s(int attempt);
  // How long attempts of the job may still begin.
  double patience_s(const RequestJob& job) const;
  void say_waiting(const RequestJob& job, const AttemptResult& result);
  void count_request();
  void count_answer(const HttpResponse& response);

  const std::shared_ptr<HttpClient> client_;
  const RequestPolicy policy_;
  const int process_;
  std::shared_ptr<State> itself_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for the thread
  std::condition_variable ended_;    // for stop()
  std::deque<RequestJobPtr> queue_;
  RequestTimers timers_;
  Clock::time_point wakes_at_ = Clock::time_point::min();
  std::unordered_set<RequestJobPtr> sent_;  // with a request in flight
  InFlightLimit limit_;
  AnswerTimes times_;
  std::mt19937_64 random_;
  RequestStatistics counts_;
  int64_t num_ranges_ = 0;
  int in_flight_ = 0;
  int num_settling_ = 0;  // threads in settle(), whose request is no longer in flight
  int64_t num_jobs_ = 0;  // whose `done` has not returned
  bool is_stopping_ = false;
  bool has_said_waiting_ = false;  // and nothing has succeeded since
  std::thread thread_;
};

}  // namespace ffkit
