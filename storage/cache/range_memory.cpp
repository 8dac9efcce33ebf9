#include "cache/range_memory.h"

#include <unistd.h>

#include <cstring>

namespace ffkit {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
// A range that nobody has read of while so many others were announced is left over: of the end of
// an epoch that was given up, or what other ranks read.
constexpr int64_t kAnnouncedSinceUse = 128;

}  // namespace

std::shared_ptr<RangeMemory> RangeMemory::of_process() {
  struct OfProcess {
    std::mutex mutex;
    pid_t process = 0;
    std::vector<std::shared_ptr<RangeMemory>> made;  // the last one is this process's
  };
  // Never destroyed: reads may be underway when the process ends.
  static auto* const known = new OfProcess;
  const std::scoped_lock lock(known->mutex);
  if (known->process != ::getpid()) {
    known->process = ::getpid();
    known->made.push_back(std::make_shared<RangeMemory>());
  }
  return known->made.back();
}

int64_t RangeMemory::num_bytes() {
  const std::scoped_lock lock(mutex_);
  return num_bytes_;
}

RangeMemory::Ranges::iterator RangeMemory::find(const void* object, int64_t offset,
                                                int64_t num_bytes) {
  auto next = ranges_.upper_bound({object, offset});
  if (next == ranges_.begin()) return ranges_.end();
  const auto found = std::prev(next);
  const Range& range = *found->second;
  const bool has_it =
      found->first.first == object && offset + num_bytes <= range.offset + range.num_bytes;
  return has_it ? found : ranges_.end();
}

void RangeMemory::erase(Ranges::iterator range) {
  num_bytes_ -= range->second->num_bytes;
  ranges_.erase(range);
}

void RangeMemory::drop(const Key& key, const std::shared_ptr<Range>& range) {
  const auto found = ranges_.find(key);
  if (found != ranges_.end() && found->second == range) erase(found);
}

void RangeMemory::make_room(int64_t num_bytes) {
  if (num_bytes_ + num_bytes <= max_bytes_) return;
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    const auto here = range++;
    const bool is_left_over = here->second->state == State::there &&
                              num_announced_ - here->second->used_at > kAnnouncedSinceUse;
    if (is_left_over) erase(here);
  }
}

void RangeMemory::announce(const void* object, int64_t offset, int64_t num_bytes,
                           const Fetch& fetch) {
  if (num_bytes < kLeastBytes) return;
  const Key key{object, offset};
  std::shared_ptr<Range> range;
  {
    const std::scoped_lock lock(mutex_);
    ++num_announced_;
    if (const auto found = find(object, offset, 1); found != ranges_.end()) {
      found->second->num_unread += num_bytes;
      found->second->used_at = num_announced_;
      return;
    }
    make_room(num_bytes);
    if (num_bytes_ + num_bytes > max_bytes_) return;
    range = std::make_shared<Range>();
    range->offset = offset;
    range->num_bytes = range->num_unread = num_bytes;
    range->used_at = num_announced_;
    ranges_.emplace(key, range);
    num_bytes_ += num_bytes;
  }
  const FetchQueue::Turn turn = queue_.begin_or_wait([weak = weak_from_this(), key, range, fetch] {
    if (const auto self = weak.lock()) self->begin(key, range, fetch);
  });
  if (turn == FetchQueue::Turn::now) begin(key, range, fetch);
  if (turn != FetchQueue::Turn::never) return;
  const std::scoped_lock lock(mutex_);
  drop(key, range);
}

// It has begun, as the queue counts.
void RangeMemory::begin(const Key& key, const std::shared_ptr<Range>& range, const Fetch& fetch) {
  bool is_wanted = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = ranges_.find(key);
    is_wanted = found != ranges_.end() && found->second == range;
    if (is_wanted) range->state = State::underway;
  }
  if (!is_wanted) {  // it was forgotten, or read alone
    queue_.end(/*has_come=*/false);
    return;
  }
  const auto num_bytes = static_cast<size_t>(range->num_bytes);
  try {
    range->bytes = std::make_unique_for_overwrite<std::byte[]>(num_bytes);
    fetch(range->offset, {range->bytes.get(), num_bytes},
          [self = shared_from_this(), key, range](const std::exception_ptr& error) {
            self->threads_.post([self, key, range, error] { self->arrived(key, range, error); });
          });
  } catch (...) {
    arrived(key, range, std::current_exception());
  }
}

void RangeMemory::arrived(const Key& key, const std::shared_ptr<Range>& range,
                          const std::exception_ptr& error) {
  std::vector<Waiter> waiters;
  {
    const std::scoped_lock lock(mutex_);
    range->state = State::there;
    waiters.swap(range->waiters);
    // Who comes after an error reads alone.
    if (error != nullptr || range->num_unread <= 0) drop(key, range);
  }
  queue_.end(error == nullptr);
  for (Waiter& waiter : waiters) {
    if (error == nullptr) {
      std::memcpy(waiter.out.data(), range->bytes.get() + waiter.offset, waiter.out.size());
    }
    waiter.done(error);
  }
}

bool RangeMemory::read(const void* object, int64_t offset, std::span<std::byte> out,
                       const Done& done) {
  std::shared_ptr<Range> range;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = find(object, offset, std::ssize(out));
    if (found == ranges_.end()) return false;
    range = found->second;
    range->used_at = num_announced_;
    range->num_unread -= std::ssize(out);
    if (range->state == State::waiting) {  // who reads alone takes it too
      if (range->num_unread <= 0) erase(found);
      return false;
    }
    if (range->state == State::underway) {
      range->waiters.push_back({offset - range->offset, out, done});
      return true;
    }
    if (range->num_unread <= 0) erase(found);
  }
  std::memcpy(out.data(), range->bytes.get() + (offset - range->offset), out.size());
  done(nullptr);
  return true;
}

bool RangeMemory::is_coming(const void* object, int64_t offset, int64_t num_bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = find(object, offset, num_bytes);
  return found != ranges_.end() && found->second->state != State::there;
}

void RangeMemory::forget(const void* object) {
  const std::scoped_lock lock(mutex_);
  auto range = ranges_.lower_bound({object, INT64_MIN});
  while (range != ranges_.end() && range->first.first == object) erase(range++);
}

}  // namespace ffkit
