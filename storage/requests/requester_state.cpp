#include "requests/requester_state.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include <ffkit/storage/traffic.h>

#include "base/machine/signals_blocked.h"
#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

// Whether this thread is in answered(): it is the client's then, in which make() must not wait.
thread_local int answers_in_thread = 0;

class InAnswer {
 public:
  InAnswer() { ++answers_in_thread; }
  ~InAnswer() { --answers_in_thread; }
  InAnswer(const InAnswer&) = delete;
  InAnswer& operator=(const InAnswer&) = delete;
};

constexpr double kLeastStallLimit = 1;

std::atomic<int64_t> traffic_requests = 0;  // of the process
std::atomic<int64_t> traffic_bytes = 0;

std::chrono::steady_clock::duration wait_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, 366 * 86400.0)));
}

}  // namespace

Requester::State::State(std::shared_ptr<HttpClient> client, const RequestPolicy& policy)
    : client_(std::move(client)),
      policy_(policy),
      process_(::getpid()),
      limit_(policy.min_in_flight, policy.max_in_flight),
      times_(policy.hedge_quantile),
      random_(std::random_device()()) {}

void Requester::State::start() {
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io, "the thread that repeats requests cannot be started",
                {.errno_value = error.code().value(),
                 .remedy = "raise the limit of threads (ulimit -u, or pids.max of the container)"});
  }
}

bool Requester::State::is_of_this_process() const {
  return ::getpid() == process_;
}

void Requester::State::submit(RequestJobPtr job) {
  // `done` may come, and the Requester be destroyed, before this returns.
  const std::shared_ptr<State> self = shared_from_this();
  if (!is_of_this_process()) {
    job->error = std::make_exception_ptr(error_at(
        job->address, ErrorCode::unsupported,
        "the store was opened by process {} before fork(); open it in the child", process_));
    job->tell({});
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++num_jobs_;
    if (job->range) ++num_ranges_;
    if (!is_stopping_) {
      if (answers_in_thread > 0 || is_http_client_thread() || !queue_.empty() || !may_start()) {
        queue_.push_back(std::move(job));
        if (may_start()) changed_.notify_one();
        return;
      }
      admit_first(*job);
      sent_.insert(job);
    } else {
      job->error = requester_ended(job->address);
    }
  }
  if (job->error != nullptr) {
    finish(job, {});
  } else {
    launch(job, false);
  }
}

void Requester::State::cancel(const RequestJobPtr& job) {
  std::vector<uint64_t> tickets;
  bool is_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    if (job->is_over) return;
    job->is_cancelled = true;
    tickets = tickets_of(*job);
    if (const auto place = std::ranges::find(queue_, job); place != queue_.end()) {
      queue_.erase(place);
      is_waiting = true;
    }
    is_waiting |=
        std::erase_if(timers_, [&](const auto& timer) {
          return timer.second.job == job && timer.second.kind == RequestTimer::Kind::retry;
        }) > 0;
    if (is_waiting) job->is_over = true;
  }
  for (const uint64_t ticket : tickets) client_->cancel(ticket);
  if (!is_waiting) return;
  job->error = requester_ended(job->address);
  finish(job, {});
}

std::vector<uint64_t> Requester::State::tickets_of(const RequestJob& job) {
  std::vector<uint64_t> tickets;
  for (const RequestJob::Side* side : {&job.first, &job.second}) {
    if (side->is_active) tickets.push_back(side->ticket);
  }
  return tickets;
}

void Requester::State::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const std::vector<Launch> launches = next_launches(lock);
    lock.unlock();
    for (const Launch& each : launches) launch(each.job, each.is_second);
    lock.lock();
  }
  // What has no request in flight ends here, all else with its answers.
  std::vector<RequestJobPtr> ended(queue_.begin(), queue_.end());
  queue_.clear();
  for (const auto& [when, timer] : timers_) {
    timer.job->hedge_timer.reset();
    if (timer.kind == RequestTimer::Kind::retry) ended.push_back(timer.job);
  }
  timers_.clear();
  lock.unlock();
  for (const RequestJobPtr& job : ended) {
    job->error = requester_ended(job->address);
    finish(job, {});
  }
}

std::vector<Requester::State::Launch> Requester::State::next_launches(
    std::unique_lock<std::mutex>& lock) {
  std::vector<Launch> launches;
  take_due_timers(launches);
  while (!queue_.empty() && may_start()) {
    RequestJobPtr job = std::move(queue_.front());
    queue_.pop_front();
    admit_first(*job);
    sent_.insert(job);
    launches.push_back({std::move(job), false});
  }
  if (launches.empty() && !is_stopping_) {
    if (timers_.empty()) {
      wakes_at_ = Clock::time_point::max();
      changed_.wait(lock);
    } else {
      // It looks whether the process ends, too.
      wakes_at_ = std::min(timers_.begin()->first, Clock::now() + kBetweenChecks);
      changed_.wait_until(lock, wakes_at_);
    }
    wakes_at_ = Clock::time_point::min();
  }
  return launches;
}

void Requester::State::take_due_timers(std::vector<Launch>& launches) {
  const Clock::time_point now = Clock::now();
  // When the process ends, the next attempt is refused at once.
  while (!timers_.empty() && (timers_.begin()->first <= now || is_process_ending())) {
    RequestTimer timer = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (timer.kind == RequestTimer::Kind::retry) {
      queue_.push_front(std::move(timer.job));
    } else {
      timer.job->hedge_timer.reset();
      if (admit_second(*timer.job)) launches.push_back({std::move(timer.job), true});
    }
  }
}

void Requester::State::admit_first(RequestJob& job) {
  ++job.attempt;
  if (job.attempt == 1) job.begin = Clock::now();
  if (job.attempt > 1) ++counts_.retries;
  count_request();
  ++in_flight_;
  job.first = {
      .is_active = true, .ticket = new_http_ticket(), .limit_generation = limit_.generation()};
}

bool Requester::State::admit_second(RequestJob& job) {
  if (job.is_over || !job.first.is_active || job.second.is_active || is_stopping_) return false;
  if (static_cast<double>(counts_.hedges + 1) >
      policy_.hedge_share * static_cast<double>(num_ranges_)) {
    return false;
  }
  ++counts_.hedges;
  count_request();
  ++in_flight_;
  job.second = {.is_active = true,
                .is_making = true,
                .ticket = new_http_ticket(),
                .limit_generation = limit_.generation()};
  return true;
}

void Requester::State::watch(const RequestJobPtr& job) {
  if (!job->range || policy_.hedge_share <= 0) return;
  const std::optional<double> usual =
      times_.quantile(job->asked().num_bytes, policy_.hedge_min_samples);
  if (!usual) return;
  const double wait_s = std::max(policy_.hedge_factor * *usual, policy_.hedge_min_s);
  job->hedge_timer = set_timer(Clock::now() + wait_of(wait_s), {RequestTimer::Kind::hedge, job});
}

void Requester::State::unwatch(RequestJob& job) {
  if (job.hedge_timer) timers_.erase(*job.hedge_timer);
  job.hedge_timer.reset();
}

RequestTimers::iterator Requester::State::set_timer(Clock::time_point when, RequestTimer timer) {
  // The thread wakes at the time of a timer that was taken away, too: that is cheaper than to tell
  // it of every request.
  if (when < wakes_at_) changed_.notify_one();
  return timers_.emplace(when, std::move(timer));
}

void Requester::State::launch(const RequestJobPtr& job, bool is_second) {
  HttpRequest request;
  const MakingRequest in_making;
  try {
    if (!in_making.is_allowed()) std::rethrow_exception(requester_ended(job->address));
    if (is_second) job->second_into.reset(new std::byte[job->rest().size()]);
    request = job->request(is_second);
    // A request that stalls takes of the same time.
    if (policy_.retry_s > 0 && request.stall_limit_s > 0) {
      request.stall_limit_s =
          std::min(request.stall_limit_s, std::max(patience_s(*job), kLeastStallLimit));
    }
  } catch (const std::exception&) {
    settle(job, is_second, {.kind = AttemptResult::Kind::fail, .error = std::current_exception()},
           {});
    return;
  }
  const uint64_t ticket = request.ticket;
  const auto side = [&]() -> RequestJob::Side& { return is_second ? job->second : job->first; };
  bool is_of_no_use = false;
  {
    const std::lock_guard lock(mutex_);
    side().is_making = false;
    is_of_no_use = job->is_over;
  }
  if (is_of_no_use) {
    settle(job, is_second, {.kind = AttemptResult::Kind::repeat}, {});
    return;
  }
  // stop() waits for it. (It holds no reference: with the last one the client would end in its own
  // thread.)
  client_->send(std::move(request), [this, job, is_second](HttpResponse response) {
    answered(job, is_second, std::move(response));
  });
  {
    const std::lock_guard lock(mutex_);
    if (!side().is_active || side().ticket != ticket) return;  // it has been answered
    // It may have been cancelled before it was there.
    is_of_no_use = job->is_over || job->is_cancelled || is_stopping_;
    if (!is_of_no_use && !is_second) watch(job);
  }
  if (is_of_no_use) client_->cancel(ticket);
}

void Requester::State::answered(const RequestJobPtr& job, bool is_second, HttpResponse response) {
  const InAnswer in_answer;
  // (What it reads of the job changes while no request is in flight alone.)
  AttemptResult result = result_of(*job, response);
  {
    const std::lock_guard lock(mutex_);
    count_answer(response);
    if (result.is_throttled) {
      ++counts_.throttled;
      limit_.throttled((is_second ? job->second : job->first).limit_generation);
    } else if (response.status != 0 && result.kind != AttemptResult::Kind::repeat) {
      limit_.succeeded();
      has_said_waiting_ = false;
    }
    if (job->range && result.kind == AttemptResult::Kind::done) {
      times_.add(job->asked().num_bytes, response.total_s);
    }
  }
  settle(job, is_second, std::move(result), std::move(response));
}

void Requester::State::count_request() {
  ++counts_.requests;
  ++traffic_requests;
}

void Requester::State::count_answer(const HttpResponse& response) {
  counts_.bytes += response.num_bytes;
  traffic_bytes += response.num_bytes;
  counts_.connections += response.num_connects;
}

void Requester::State::settle(const RequestJobPtr& job, bool is_second, AttemptResult result,
                              HttpResponse response) {
  uint64_t loser = 0;
  bool is_finished = false;
  {
    const std::lock_guard lock(mutex_);
    RequestJob::Side& side = is_second ? job->second : job->first;
    side.is_active = side.is_making = false;
    if (!is_second) unwatch(*job);
    if ((is_stopping_ || job->is_cancelled) && result.kind != AttemptResult::Kind::done) {
      result = {.kind = AttemptResult::Kind::fail, .error = requester_ended(job->address)};
    }
    is_finished = decide(job, is_second, result, loser);
    if (!job->first.is_active && !job->second.is_active) sent_.erase(job);
    --in_flight_;
    ++num_settling_;
    if (!queue_.empty() && may_start()) changed_.notify_one();
  }
  if (loser != 0) client_->cancel(loser);
  if (is_finished) finish(job, std::move(response));
  const std::lock_guard lock(mutex_);
  --num_settling_;
  if (is_stopping_) ended_.notify_all();
}

bool Requester::State::decide(const RequestJobPtr& job, bool is_second, AttemptResult& result,
                              uint64_t& loser) {
  const RequestJob::Side& other = is_second ? job->first : job->second;
  if (job->is_over) return (job->is_second_ahead && !is_second) || job->waits_for_make;
  if (result.kind == AttemptResult::Kind::done) {
    job->is_over = true;
    job->version_there = result.version;
    if (other.is_active) loser = other.ticket;
    if (is_second) {
      ++counts_.hedges_won;
      job->is_second_ahead = true;
      return !other.is_active;
    }
    job->waits_for_make = other.is_making;
    return !job->waits_for_make;
  }
  // The first one decides what is an error, for it has the caller's memory.
  if (other.is_active && (is_second || result.kind == AttemptResult::Kind::repeat)) return false;
  if (result.kind == AttemptResult::Kind::fail) {
    job->is_over = true;
    job->error = std::move(result.error);
    if (other.is_active) loser = other.ticket;
    job->waits_for_make = other.is_making;
    return !job->waits_for_make;
  }
  if (is_second) result.num_good = 0;  // its bytes are not in the caller's memory
  return retry_or_give_up(job, result);
}

bool Requester::State::retry_or_give_up(const RequestJobPtr& job, const AttemptResult& result) {
  if (result.num_good > 0) job->begin = Clock::now();
  const double patience = patience_s(*job);
  if (patience <= 0 || (policy_.max_attempts > 0 && job->attempt >= policy_.max_attempts)) {
    job->is_over = true;
    job->error = std::make_exception_ptr(last_attempt_failed(*job, result));
    return true;
  }
  if (result.is_of_any_version) {
    job->num_there = 0;
    job->version_there.clear();
  }
  job->num_there += result.num_good;
  if (result.num_good > 0) job->version_there = result.version;
  if (policy_.retry_s - patience >= policy_.say_after_s) say_waiting(*job, result);
  // The last attempt is made when the time ends, whatever the store says.
  const double wait_s = std::min(std::max(backoff_s(job->attempt), result.wait_s), patience);
  set_timer(Clock::now() + wait_of(wait_s), {RequestTimer::Kind::retry, job});
  return false;
}

double Requester::State::patience_s(const RequestJob& job) const {
  const std::chrono::duration<double> since_begin = Clock::now() - job.begin;
  return policy_.retry_s - since_begin.count();
}

void Requester::State::say_waiting(const RequestJob& job, const AttemptResult& result) {
  if (std::exchange(has_said_waiting_, true)) return;
  fmt::print(stderr, "ffkit: waiting for {}, for up to {:g} s: {}\n", without_marks(job.address),
             policy_.retry_s, result.reason);
}

double Requester::State::backoff_s(int attempt) {
  const double most =
      std::min(policy_.first_backoff_s * std::pow(2.0, attempt - 1), policy_.max_backoff_s);
  return most * static_cast<double>(random_() >> 11) * 0x1p-53;
}

void Requester::State::finish(const RequestJobPtr& job, HttpResponse response) {
  if (job->is_second_ahead && job->error == nullptr) {
    const std::span<std::byte> rest = job->rest();
    std::memcpy(rest.data(), job->second_into.get(), rest.size());
  }
  {
    const std::lock_guard lock(mutex_);
    if (job->error != nullptr) ++counts_.failures;
  }
  job->tell(std::move(response));
  const std::lock_guard lock(mutex_);
  --num_jobs_;
  if (is_stopping_) ended_.notify_all();
}

void Requester::State::stop() {
  std::vector<uint64_t> tickets;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const RequestJobPtr& job : sent_) {
      const std::vector<uint64_t> of_job = tickets_of(*job);
      tickets.insert(tickets.end(), of_job.begin(), of_job.end());
    }
    changed_.notify_one();
  }
  for (const uint64_t ticket : tickets) client_->cancel(ticket);
  thread_.join();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return num_jobs_ == 0 && in_flight_ == 0 && num_settling_ == 0; });
}

StoreTraffic store_traffic() {
  return {.requests = traffic_requests, .bytes = traffic_bytes};
}

RequestStatistics Requester::State::statistics() const {
  const std::lock_guard lock(mutex_);
  RequestStatistics statistics = counts_;
  statistics.in_flight = in_flight_;
  statistics.in_flight_limit = limit_.value();
  return statistics;
}

}  // namespace ffkit
