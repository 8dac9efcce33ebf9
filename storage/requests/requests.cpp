#include "requests/requests.h"

#include <future>
#include <utility>

#include "requests/requester_state.h"

namespace ffkit {

Requester::Requester(std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
    : state_(std::make_shared<State>(std::move(client), policy)) {
  state_->start();
}

Requester::~Requester() {
  if (state_->is_of_this_process()) {
    state_->stop();
  } else {
    // The thread is the parent's, and a lock may be held by it for ever: nothing is destroyed.
    static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
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
  auto answer = std::make_shared<std::promise<HttpResponse>>();
  std::future<HttpResponse> result = answer->get_future();
  send(address, std::move(make), std::move(judge),
       [answer](HttpResponse response, std::exception_ptr error) {
         if (error == nullptr) {
           answer->set_value(std::move(response));
         } else {
           answer->set_exception(std::move(error));
         }
       });
  return result.get();
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
  auto answer = std::make_shared<std::promise<void>>();
  std::future<void> result = answer->get_future();
  read_range(range, std::move(make), std::move(judge), [answer](std::exception_ptr error) {
    if (error == nullptr) {
      answer->set_value();
    } else {
      answer->set_exception(std::move(error));
    }
  });
  result.get();
}

RequestStatistics Requester::statistics() const {
  return state_->statistics();
}

}  // namespace ffkit
