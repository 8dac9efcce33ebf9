// Renewed: something that ends (credentials, a token), fetched when it is needed and again five
// minutes before it ends. One thread fetches at a time; the others go on with what there is while
// it is valid, and wait otherwise. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "credentials/surroundings.h"

namespace ffkit {

// `Value` has a member std::optional<Moment> expires: nothing for what never ends.
template <typename Value>
class Renewed {
 public:
  using Pointer = std::shared_ptr<const Value>;

  Renewed(std::function<Value()> fetch, std::function<Moment()> now)
      : fetch_(std::move(fetch)), now_(std::move(now)) {}

  // May wait for `fetch`, and throws what it throws, unless there is a value that is still valid.
  Pointer current() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (is_valid() && !is_due()) return value_;
      if (!is_fetching_) break;
      if (is_valid()) return value_;
      const uint64_t round = round_;
      has_fetched_.wait(lock, [&] { return round_ != round; });
      // Those who waited share the failure, too: a thousand threads ask once.
      if (failure_ != nullptr && !is_valid()) std::rethrow_exception(failure_);
    }
    return fetch_now(lock);
  }

  // What there is, without waiting; null before the first one.
  Pointer last() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

  // `refused` was not accepted: current() fetches anew, unless that has been done meanwhile.
  void refuse(const Pointer& refused) {
    const std::lock_guard lock(mutex_);
    if (value_ == refused) is_refused_ = true;
  }

 private:
  static constexpr std::chrono::seconds kAhead{300};
  static constexpr std::chrono::seconds kBetweenAttempts{15};

  bool ends_within(std::chrono::seconds time) const {
    return value_->expires.has_value() && now_() + time >= *value_->expires;
  }
  bool is_valid() const {
    return value_ != nullptr && !is_refused_ && !ends_within(std::chrono::seconds(0));
  }
  bool is_due() const { return ends_within(kAhead) && now_() >= next_attempt_; }

  Pointer fetch_now(std::unique_lock<std::mutex>& lock) {
    is_fetching_ = true;
    lock.unlock();
    Pointer fetched;
    std::exception_ptr failure;
    try {
      fetched = std::make_shared<const Value>(fetch_());
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    is_fetching_ = false;
    ++round_;
    failure_ = failure;
    next_attempt_ = now_() + kBetweenAttempts;
    if (fetched != nullptr) {
      value_ = std::move(fetched);
      is_refused_ = false;
    }
    has_fetched_.notify_all();
    if (failure != nullptr && !is_valid()) std::rethrow_exception(failure);
    return value_;
  }

  const std::function<Value()> fetch_;
  const std::function<Moment()> now_;
  mutable std::mutex mutex_;
  std::condition_variable has_fetched_;
  Pointer value_;
  std::exception_ptr failure_;
  Moment next_attempt_;
  uint64_t round_ = 0;
  bool is_fetching_ = false;
  bool is_refused_ = false;
};

}  // namespace ffkit
