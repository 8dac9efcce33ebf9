#include "cache/block_reader.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

// Of what is announced, from which on the blocks around it do not come, too: a windowed order
// announces what it needs of a block, and its neighbours belong to other windows.
constexpr int64_t kLeastExactBytes = 1 << 20;

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

template <typename Visit>
void for_blocks(const BlockRun& run, const Visit& visit) {
  for (int64_t block = run.first; block < run.end(); ++block) visit(block);
}

}  // namespace

BlockReader::BlockReader(std::shared_ptr<BlockCache> cache, std::unique_ptr<CacheFile> file,
                         Fetch fetch)
    : cache_(std::move(cache)), file_(std::move(file)), fetch_(std::move(fetch)) {}

void BlockReader::read(int64_t offset, std::span<std::byte> out, Done done) {
  if (out.empty()) return done(nullptr);
  const BlockRun blocks = blocks_that_hold(offset, std::ssize(out));
  auto countdown = std::make_shared<Countdown>(static_cast<int>(blocks.count), std::move(done));
  const auto one_is_done = [countdown](std::exception_ptr error) {
    countdown->one_is_done(std::move(error));
  };
  std::vector<Waiter> missing;
  for (int64_t block = blocks.first; block < blocks.end(); ++block) {
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
        missing.push_back({begin, part, one_is_done});
      }
    } catch (...) {
      one_is_done(std::current_exception());
    }
  }
  if (!missing.empty()) need(missing);
}

void BlockReader::announce(int64_t offset, int64_t num_bytes) {
  if (num_bytes <= 0) return;
  BlockRun wanted = blocks_that_hold(offset, num_bytes);
  if (num_bytes < kLeastExactBytes) wanted = with_blocks_around(wanted, file_->num_blocks());
  std::vector<int64_t> blocks;
  {
    const std::scoped_lock lock(mutex_);
    for (int64_t block = wanted.first; block < wanted.end(); ++block) {
      if (!is_on_its_way(block)) blocks.push_back(block);
    }
  }
  std::erase_if(blocks, [this](int64_t block) { return seems_held(block); });
  for (const BlockRun& run : announce_blocks(std::move(blocks))) {
    start(run, std::make_shared<Place>(cache_));
  }
}

bool BlockReader::is_coming(int64_t offset, int64_t num_bytes) {
  if (num_bytes <= 0) return false;
  const BlockRun run = blocks_that_hold(offset, num_bytes);
  const std::scoped_lock lock(mutex_);
  for (int64_t block = run.first; block < run.end(); ++block) {
    if (!is_on_its_way(block) && !file_->holds_block(block)) return false;
  }
  return true;
}

// Precondition: the mutex is held.
bool BlockReader::is_on_its_way(int64_t block) const {
  return underway_.contains(block) || announced_.contains(block);
}

// What cannot be looked at is taken as there: the read says what is wrong.
bool BlockReader::seems_held(int64_t block) const {
  try {
    return file_->holds_block(block);
  } catch (const Error&) {
    return true;
  }
}

// Those that are to be started now.
std::vector<BlockRun> BlockReader::announce_blocks(std::vector<int64_t> blocks) {
  std::vector<BlockRun> begun;
  const std::scoped_lock lock(mutex_);
  // Another thread may have announced them, too.
  std::erase_if(blocks, [this](int64_t block) { return is_on_its_way(block); });
  for (const BlockRun& run : runs_of(blocks)) {
    const FetchQueue::Turn turn = cache_->queue().begin_or_wait(
        [weak = weak_from_this(), weak_cache = std::weak_ptr(cache_), run] {
          if (const auto self = weak.lock()) {
            self->begin_announced(run);
          } else if (const auto cache = weak_cache.lock()) {
            cache->queue().end(/*has_come=*/false);
          }
        });
    if (turn == FetchQueue::Turn::now) begun.push_back(run);
    for (int64_t block = run.first; block < run.end(); ++block) {
      if (turn == FetchQueue::Turn::now) underway_[block];
      if (turn == FetchQueue::Turn::later) announced_.insert(block);
    }
  }
  return begun;
}

// It has begun, as the queue counts.
void BlockReader::begin_announced(const BlockRun& run) {
  const auto place = std::make_shared<Place>(cache_);
  std::vector<int64_t> blocks;
  for (int64_t block = run.first; block < run.end(); ++block) {
    const bool is_wanted = !seems_held(block);
    const std::scoped_lock lock(mutex_);
    announced_.erase(block);
    if (is_wanted && underway_.try_emplace(block).second) blocks.push_back(block);
  }
  for (const BlockRun& wanted : runs_of(blocks)) start(wanted, place);
}

// Each of another block, in their order.
void BlockReader::need(const std::vector<Waiter>& waiters) {
  std::vector<BlockRun> begun;
  std::vector<Waiter> alone;
  {
    const std::scoped_lock lock(mutex_);
    std::vector<int64_t> blocks;
    for (const Waiter& waiter : waiters) {
      const int64_t block = waiter.offset / kBlockBytes;
      const auto found = underway_.find(block);
      if (found == underway_.end()) {
        blocks.push_back(block);
      } else {
        found->second.push_back(waiter);
      }
    }
    for (const BlockRun& run : runs_of(blocks)) {
      const bool begins = cache_->queue().begin();
      if (begins) begun.push_back(run);
      for (const Waiter& waiter : waiters) {
        const int64_t block = waiter.offset / kBlockBytes;
        if (block < run.first || block >= run.end()) continue;
        (begins ? underway_[block] : alone).push_back(waiter);
      }
    }
  }
  for (const BlockRun& run : begun) {
    const auto place = std::make_shared<Place>(cache_);
    start(begin_around(run), place);
  }
  fetch_alone(std::move(alone));
}

// A run that is underway, with those beside it that are not there and are underway from now on.
BlockRun BlockReader::begin_around(BlockRun run) {
  const BlockRun around = with_blocks_around(run, file_->num_blocks());
  const auto begins = [&](int64_t beside) {
    if (run.count >= kBlocksAround || seems_held(beside)) return false;
    const std::scoped_lock lock(mutex_);
    return underway_.try_emplace(beside).second;
  };
  while (run.first > around.first && begins(run.first - 1)) run = {run.first - 1, run.count + 1};
  while (run.end() < around.end() && begins(run.end())) ++run.count;
  return run;
}

// Each block of it by where it is found; those that are claimed are fetched together.
void BlockReader::start(const BlockRun& run, const SharedPlace& place) {
  BlockRun alike{run.first, 0};
  State state = State::there;
  for (int64_t block = run.first; block < run.end(); ++block) {
    const State found = look_at(block);
    if (alike.count > 0 && found != state) {
      start_as(state, alike, place);
      alike = {block, 0};
    }
    state = found;
    ++alike.count;
  }
  start_as(state, alike, place);
}

BlockReader::State BlockReader::look_at(int64_t block) const {
  try {
    if (file_->holds_block(block)) return State::there;
    if (!file_->claim(block)) return State::elsewhere;
    if (!file_->holds_block(block)) return State::claimed;
    file_->release(block);
    return State::there;
  } catch (const Error& error) {
    file_->release(block);
    cache_->say_broken(error);
    return State::unreadable;
  }
}

void BlockReader::start_as(State state, const BlockRun& run, const SharedPlace& place) {
  switch (state) {
    case State::claimed:
      return fetch_run(run, place);
    case State::elsewhere:  // Another process fetches them, or did: its end is seen by looking.
      return cache_->threads().post_later(
          [self = shared_from_this(), run, place] { self->start(run, place); });
    case State::there:
      return for_blocks(run, [this](int64_t b) { read_from_file(b); });
    case State::unreadable:
      return fetch_alone(take_waiters(run));
  }
}

// Of blocks that are claimed.
void BlockReader::fetch_run(const BlockRun& run, const SharedPlace& place) {
  const int64_t num_bytes = bytes_of(run);
  bool is_reserved = false;
  try {
    is_reserved = cache_->reserve(run.count, num_bytes);
    if (!is_reserved) {
      for_blocks(run, [this](int64_t block) { file_->release(block); });
      return fetch_alone(take_waiters(run));
    }
    std::shared_ptr<std::byte[]> bytes = cache_->memory().take();
    const std::span<std::byte> into(bytes.get(), static_cast<size_t>(num_bytes));
    fetch_(file_->block_begin(run.first), into,
           [self = shared_from_this(), run, place, bytes](const std::exception_ptr& error) {
             self->cache_->threads().post([self, run, place, bytes, error] {
               if (error == nullptr) place->set_has_come();
               self->arrived(run, bytes, error);
             });
           });
  } catch (...) {
    for_blocks(run, [&, error = std::current_exception()](int64_t block) {
      if (is_reserved) cache_->settle(file_->block_size(block), /*is_written=*/false);
      file_->release(block);
      for (Waiter& waiter : take_waiters(block)) waiter.done(error);
    });
  }
}

// In a thread of the cache. Who waits is served before the blocks are written, and who comes
// meanwhile after that.
void BlockReader::arrived(const BlockRun& run, const std::shared_ptr<std::byte[]>& bytes,
                          const std::exception_ptr& error) {
  const auto bytes_of_block = [&](int64_t block) {
    return std::span<const std::byte>(
        bytes.get() + file_->block_begin(block) - file_->block_begin(run.first),
        static_cast<size_t>(file_->block_size(block)));
  };
  const auto serve = [&](int64_t block, std::vector<Waiter>& waiters) {
    for (Waiter& waiter : waiters) {
      if (error == nullptr) {
        const int64_t within = waiter.offset - file_->block_begin(block);
        std::memcpy(waiter.out.data(), bytes_of_block(block).data() + within, waiter.out.size());
      }
      waiter.done(error);
    }
  };
  if (error == nullptr) {
    for (int64_t block = run.first; block < run.end(); ++block) {
      std::vector<Waiter> waiters;
      {
        const std::scoped_lock lock(mutex_);
        waiters.swap(underway_[block]);
      }
      serve(block, waiters);
    }
  }
  bool is_written = error == nullptr;
  for (int64_t block = run.first; block < run.end(); ++block) {
    try {
      if (is_written) file_->write(block, bytes_of_block(block));
    } catch (const Error&) {
      cache_->disk_is_full();
      is_written = false;
    }
    cache_->settle(file_->block_size(block), is_written);
    // Who comes after an error has the block fetched anew.
    file_->release(block);
    std::vector<Waiter> waiters = take_waiters(block);
    serve(block, waiters);
  }
}

void BlockReader::read_from_file(int64_t block) {
  for (Waiter& waiter : take_waiters(block)) {
    std::exception_ptr error;
    try {
      file_->read(waiter.offset, waiter.out);
    } catch (...) {
      error = std::current_exception();
    }
    waiter.done(error);
  }
}

// What is wanted and no more. The parts of one read are neighbours in memory, too: one request.
void BlockReader::fetch_alone(std::vector<Waiter> waiters) const {
  std::ranges::sort(waiters, std::less<>(), [](const Waiter& w) { return w.out.data(); });
  for (size_t next = 0; next < waiters.size();) {
    const Waiter& first = waiters[next];
    std::vector<Done> all_done;
    size_t num_bytes = 0;
    for (; next < waiters.size() && waiters[next].out.data() == first.out.data() + num_bytes &&
           waiters[next].offset == first.offset + static_cast<int64_t>(num_bytes);
         ++next) {
      num_bytes += waiters[next].out.size();
      all_done.push_back(waiters[next].done);
    }
    const auto done = [all_done = std::move(all_done)](const std::exception_ptr& error) {
      for (const Done& one : all_done) one(error);
    };
    try {
      fetch_(first.offset, {first.out.data(), num_bytes}, done);
    } catch (...) {
      done(std::current_exception());
    }
  }
}

std::vector<BlockReader::Waiter> BlockReader::take_waiters(int64_t block) {
  const std::scoped_lock lock(mutex_);
  std::vector<Waiter> waiters = std::move(underway_[block]);
  underway_.erase(block);
  return waiters;
}

std::vector<BlockReader::Waiter> BlockReader::take_waiters(const BlockRun& run) {
  std::vector<Waiter> all;
  for_blocks(run, [&](int64_t block) {
    for (Waiter& waiter : take_waiters(block)) all.push_back(std::move(waiter));
  });
  return all;
}

int64_t BlockReader::bytes_of(const BlockRun& run) const {
  return file_->block_begin(run.end() - 1) + file_->block_size(run.end() - 1) -
         file_->block_begin(run.first);
}

}  // namespace ffkit
