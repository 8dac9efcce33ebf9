#include "requests/requests.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/machine/wait_check.h"
#include "requests/requester_state.h"

namespace ffkit {
namespace {

// An answer that a thread waits for. Errors are moved through it, so that the thread alone frees
// them: a promise would keep one, perhaps for longer. When a check ends the wait, `cancel` ends the
// request, which may use the caller's memory until its answer is there.
class AwaitedAnswer {
 public:
  void set(HttpResponse response, std::exception_ptr error) {
    // Notifying under the lock lets the waiter destroy this at once.
    const std::lock_guard lock(mutex_);
    response_ = std::move(response);
    error_ = std::move(error);
    is_there_ = true;
    changed_.notify_one();
  }

  template <typename Cancel>
  HttpResponse get(const Cancel& cancel) {
    std::exception_ptr ended;
    Wait wait;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kBetweenChecks, [this] { return is_there_; })) {
      if (ended != nullptr) continue;
      lock.unlock();
      wait.waited += kBetweenChecks;
      try {
        check_wait(wait);
      } catch (...) {
        ended = std::current_exception();
        cancel();
      }
      lock.lock();
    }
    if (ended != nullptr) std::rethrow_exception(std::move(ended));
    wait.is_over = true;
    check_wait(wait);
    if (error_ != nullptr) std::rethrow_exception(std::move(error_));
    return std::move(response_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ = false;
  HttpResponse response_;
  std::exception_ptr error_;
};

RequestJobPtr job_of(const std::string& address, Requester::MakeRequest make, Judge judge,
                     Requester::Done done) {
  auto job = std::make_shared<RequestJob>();
  job->address = address;
  job->make = std::move(make);
  job->judge = std::move(judge);
  job->done = std::move(done);
  return job;
}

RequestJobPtr job_of(const RangeOfObject& range, Requester::MakeRequest make, Judge judge,
                     Requester::RangeDone done) {
  RequestJobPtr job = job_of(range.address, std::move(make), std::move(judge), nullptr);
  job->range = range;
  job->range_done = std::move(done);
  return job;
}

}  // namespace

Requester::Requester(std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
    : state_(std::make_shared<State>(std::move(client), policy)) {
  state_->start();
}

Requester::~Requester() {
  if (state_->is_of_this_process()) {
    state_->stop();
  } else {
    // The thread is the parent's, and a lock may be held by it for ever: nothing is destroyed.
    state_->stay();
  }
}

void Requester::send(const std::string& address, MakeRequest make, Judge judge, Done done) {
  state_->submit(job_of(address, std::move(make), std::move(judge), std::move(done)));
}

HttpResponse Requester::fetch(const std::string& address, MakeRequest make, Judge judge) {
  AwaitedAnswer answer;
  const RequestJobPtr job = job_of(address, std::move(make), std::move(judge),
                                   [&answer](HttpResponse response, std::exception_ptr error) {
                                     answer.set(std::move(response), std::move(error));
                                   });
  state_->submit(job);
  return answer.get([&] { state_->cancel(job); });
}

void Requester::read_range(const RangeOfObject& range, MakeRequest make, Judge judge,
                           RangeDone done) {
  if (range.into.empty()) {
    done(nullptr);
    return;
  }
  state_->submit(job_of(range, std::move(make), std::move(judge), std::move(done)));
}

void Requester::read_range(const RangeOfObject& range, MakeRequest make, Judge judge) {
  if (range.into.empty()) return;
  AwaitedAnswer answer;
  const RequestJobPtr job =
      job_of(range, std::move(make), std::move(judge),
             [&answer](std::exception_ptr error) { answer.set({}, std::move(error)); });
  state_->submit(job);
  answer.get([&] { state_->cancel(job); });
}

RequestStatistics Requester::statistics() const {
  return state_->statistics();
}

}  // namespace ffkit
