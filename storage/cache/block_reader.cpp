#include "cache/block_reader.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

// Calls `done` when all of several reads are, with the first error.
class Countdown {
 public:
  Countdown(int count, BlockReader::Done done) : left_(count), done_(std::move(done)) {}

  void one_is_done(std::exception_ptr error) {
    {
      const std::scoped_lock lock(mutex_);
      if (error != nullptr && error_ == nullptr) error_ = std::move(error);
      if (--left_ > 0) return;
    }
    done_(error_);
  }

 private:
  std::mutex mutex_;
  int left_;
  std::exception_ptr error_;
  BlockReader::Done done_;
};

}  // namespace

BlockReader::BlockReader(std::shared_ptr<BlockCache> cache, std::unique_ptr<CacheFile> file,
                         Fetch fetch)
    : cache_(std::move(cache)), file_(std::move(file)), fetch_(std::move(fetch)) {}

void BlockReader::read(int64_t offset, std::span<std::byte> out, Done done) {
  if (out.empty()) return done(nullptr);
  const int64_t first = offset / kBlockBytes;
  const int64_t last = (offset + std::ssize(out) - 1) / kBlockBytes;
  auto countdown = std::make_shared<Countdown>(static_cast<int>(last - first + 1), std::move(done));
  const auto one_is_done = [countdown](std::exception_ptr error) {
    countdown->one_is_done(std::move(error));
  };
  for (int64_t block = first; block <= last; ++block) {
    const int64_t begin = std::max(offset, file_->block_begin(block));
    const int64_t end =
        std::min(offset + std::ssize(out), file_->block_begin(block) + file_->block_size(block));
    const auto part =
        out.subspan(static_cast<size_t>(begin - offset), static_cast<size_t>(end - begin));
    try {
      if (file_->holds_block(block)) {
        file_->read(begin, part);
        one_is_done(nullptr);
      } else {
        need(block, {begin - file_->block_begin(block), part, one_is_done});
      }
    } catch (...) {
      one_is_done(std::current_exception());
    }
  }
}

void BlockReader::announce(int64_t offset, int64_t num_bytes) {
  if (num_bytes <= 0) return;
  const int64_t last = (offset + num_bytes - 1) / kBlockBytes;
  for (int64_t block = offset / kBlockBytes; block <= last; ++block) {
    announce_block(block);
  }
}

bool BlockReader::is_coming(int64_t offset, int64_t num_bytes) {
  if (num_bytes <= 0) return false;
  const int64_t last = (offset + num_bytes - 1) / kBlockBytes;
  const std::scoped_lock lock(mutex_);
  for (int64_t block = offset / kBlockBytes; block <= last; ++block) {
    if (!underway_.contains(block) && !announced_.contains(block) && !file_->holds_block(block)) {
      return false;
    }
  }
  return true;
}

// What cannot be looked at is taken as there: the read says what is wrong.
bool BlockReader::seems_held(int64_t block) const {
  try {
    return file_->holds_block(block);
  } catch (const Error&) {
    return true;
  }
}

void BlockReader::announce_block(int64_t block) {
  if (seems_held(block)) return;
  {
    const std::scoped_lock lock(mutex_);
    if (underway_.contains(block) || announced_.contains(block)) return;
    const FetchQueue::Turn turn = cache_->queue().begin_or_wait(
        [weak = weak_from_this(), weak_cache = std::weak_ptr(cache_), block] {
          if (const auto self = weak.lock()) {
            self->begin_announced(block);
          } else if (const auto cache = weak_cache.lock()) {
            cache->queue().end(/*has_come=*/false);
          }
        });
    if (turn == FetchQueue::Turn::later) announced_.insert(block);
    if (turn != FetchQueue::Turn::now) return;
    underway_[block];
  }
  start(block);
}

// It has begun, as the queue counts.
void BlockReader::begin_announced(int64_t block) {
  bool is_wanted = !seems_held(block);
  {
    const std::scoped_lock lock(mutex_);
    announced_.erase(block);
    if (is_wanted) is_wanted = underway_.try_emplace(block).second;
  }
  if (is_wanted) {
    start(block);
  } else {
    cache_->queue().end(/*has_come=*/false);
  }
}

void BlockReader::need(int64_t block, Waiter waiter) {
  std::unique_lock lock(mutex_);
  if (const auto found = underway_.find(block); found != underway_.end()) {
    found->second.push_back(std::move(waiter));
    return;
  }
  if (cache_->queue().begin()) {
    underway_[block].push_back(std::move(waiter));
    lock.unlock();
    start(block);
    return;
  }
  lock.unlock();
  fetch_(file_->block_begin(block) + waiter.offset, waiter.out, std::move(waiter.done));
}

void BlockReader::start(int64_t block) {
  bool is_reserved = false;
  try {
    if (!file_->claim(block)) {
      // Another process fetches it, or did: its end is seen by looking.
      cache_->threads().post_later([self = shared_from_this(), block] {
        try {
          if (self->file_->holds_block(block)) return self->read_from_file(block);
        } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
          // To be fetched, then.
        }
        self->start(block);
      });
      return;
    }
    if (file_->holds_block(block)) {
      file_->release(block);
      return read_from_file(block);
    }
    is_reserved = cache_->reserve(file_->block_size(block));
    if (!is_reserved) {
      file_->release(block);
      return fetch_alone(block);
    }
    const auto num_bytes = static_cast<size_t>(file_->block_size(block));
    std::shared_ptr<std::byte[]> bytes = cache_->memory().take();
    const std::span<std::byte> into(bytes.get(), num_bytes);
    fetch_(file_->block_begin(block), into,
           [self = shared_from_this(), block, bytes](const std::exception_ptr& error) {
             self->cache_->threads().post(
                 [self, block, bytes, error] { self->arrived(block, bytes, error); });
           });
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (is_reserved) cache_->settle(file_->block_size(block), /*is_written=*/false);
    file_->release(block);
    for (Waiter& waiter : take_waiters(block)) waiter.done(error);
    cache_->queue().end(/*has_come=*/false);
  }
}

// In a thread of the cache. Who waits is served before the block is written, and who comes
// meanwhile after that.
void BlockReader::arrived(int64_t block, const std::shared_ptr<std::byte[]>& bytes,
                          const std::exception_ptr& error) {
  const auto serve = [&](std::vector<Waiter>& waiters) {
    for (Waiter& waiter : waiters) {
      if (error == nullptr) {
        std::memcpy(waiter.out.data(), bytes.get() + waiter.offset, waiter.out.size());
      }
      waiter.done(error);
    }
  };
  std::vector<Waiter> waiters;
  bool is_written = false;
  if (error == nullptr) {
    {
      const std::scoped_lock lock(mutex_);
      waiters.swap(underway_[block]);
    }
    serve(waiters);
    try {
      file_->write(block, {bytes.get(), static_cast<size_t>(file_->block_size(block))});
      is_written = true;
    } catch (const Error&) {
      cache_->disk_is_full();
    }
  }
  // Who comes after an error has the block fetched anew.
  file_->release(block);
  waiters = take_waiters(block);
  cache_->settle(file_->block_size(block), is_written);
  cache_->queue().end(error == nullptr);
  serve(waiters);
}

void BlockReader::read_from_file(int64_t block) {
  std::vector<Waiter> waiters = take_waiters(block);
  cache_->queue().end(/*has_come=*/false);
  for (Waiter& waiter : waiters) {
    std::exception_ptr error;
    try {
      file_->read(file_->block_begin(block) + waiter.offset, waiter.out);
    } catch (...) {
      error = std::current_exception();
    }
    waiter.done(error);
  }
}

void BlockReader::fetch_alone(int64_t block) {
  std::vector<Waiter> waiters = take_waiters(block);
  cache_->queue().end(/*has_come=*/false);
  for (Waiter& waiter : waiters) {
    fetch_(file_->block_begin(block) + waiter.offset, waiter.out, std::move(waiter.done));
  }
}

std::vector<BlockReader::Waiter> BlockReader::take_waiters(int64_t block) {
  const std::scoped_lock lock(mutex_);
  std::vector<Waiter> waiters = std::move(underway_[block]);
  underway_.erase(block);
  return waiters;
}

}  // namespace ffkit
