#include "requests/requests.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "requests/requester_state.h"

namespace ffkit {
namespace {

// An answer that a thread waits for. Errors are moved through it, so that the thread alone frees
// them: a promise would keep one, perhaps for longer.
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

  HttpResponse get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_there_; });
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
  auto job = std::make_shared<RequestJob>();
  job->address = address;
  job->make = std::move(make);
  job->judge = std::move(judge);
  job->done = std::move(done);
  state_->submit(std::move(job));
}

HttpResponse Requester::fetch(const std::string& address, MakeRequest make, Judge judge) {
  AwaitedAnswer answer;
  send(address, std::move(make), std::move(judge),
       [&answer](HttpResponse response, std::exception_ptr error) {
         answer.set(std::move(response), std::move(error));
       });
  return answer.get();
}

void Requester::read_range(const RangeOfObject& range, MakeRequest make, Judge judge,
                           RangeDone done) {
  if (range.into.empty()) {
    done(nullptr);
    return;
  }
  auto job = std::make_shared<RequestJob>();
  job->address = range.address;
  job->range = range;
  job->make = std::move(make);
  job->judge = std::move(judge);
  job->range_done = std::move(done);
  state_->submit(std::move(job));
}

void Requester::read_range(const RangeOfObject& range, MakeRequest make, Judge judge) {
  AwaitedAnswer answer;
  read_range(range, std::move(make), std::move(judge),
             [&answer](std::exception_ptr error) { answer.set({}, std::move(error)); });
  answer.get();
}

RequestStatistics Requester::statistics() const {
  return state_->statistics();
}

}  // namespace ffkit
