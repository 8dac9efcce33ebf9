#include "cache/block_cache.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/make_error.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Of a file besides its blocks, as far as it grows with one of them.
constexpr int64_t kEntriesBytes = 8192;
constexpr auto kFullFor = std::chrono::seconds(10);
constexpr int64_t kLeastBound = int64_t{64} << 20;

int64_t free_bytes_at(const fs::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

void check_cache(const CacheOptions& options) {
  if (options.max_bytes != 0 && options.max_bytes < kLeastBound) {
    throw argument_error("max_bytes",
                         fmt::format("max_bytes must be at least {} (64 MiB), but it is {}",
                                     kLeastBound, options.max_bytes));
  }
}

void refuse_memory(const fs::path& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0 || status.f_type != TMPFS_MAGIC) return;
  throw error_at(folder, ErrorCode::invalid_argument,
                 "is a file system in memory (tmpfs), which the cache would fill; set FFKIT_CACHE "
                 "to a folder on a disk, or switch the cache off with FFKIT_CACHE=off");
}

// The default folder has a name that anybody can guess, in a folder that is everybody's: what
// somebody else has put there would be read as ours. A link that FFKIT_CACHE names is the user's.
void take_default_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno != EEXIST) return;
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return;
  const bool is_link = S_ISLNK(status.st_mode);
  if (!is_link && status.st_uid == ::geteuid()) return;
  throw error_at(folder, ErrorCode::invalid_argument,
                 "{}, so another user could change the data; set FFKIT_CACHE to your own folder",
                 is_link ? "this folder is a link" : "this folder belongs to another user");
}

// Of the process that it was made in. A child of fork() has no threads of it, and makes another.
struct ProcessCache {
  pid_t process = 0;
  bool is_made = false;
  std::shared_ptr<BlockCache> cache;
};

struct ProcessOptions {
  std::mutex mutex;
  std::optional<CacheOptions> options;
  ProcessCache made;
  // Of processes that this one was forked from: their threads are not here to be joined.
  std::vector<std::shared_ptr<BlockCache>> left;
};

// Never destroyed: reads may be underway when the process ends.
ProcessOptions& process_options() {
  static auto* const options = new ProcessOptions;
  return *options;
}

}  // namespace

BlockCache::BlockCache(const CacheOptions& options, int runs_at_first)
    : options_(options), queue_(threads_, runs_at_first) {
  check_cache(options_);
  if (options_.folder == default_cache_folder()) take_default_folder(options_.folder);
  std::error_code error;
  fs::create_directories(options_.folder, error);
  require_done(error, options_.folder, "cannot make the folder of the cache");
  refuse_memory(options_.folder);
  count_again();
  if (options_.max_bytes == 0) {
    options_.max_bytes = std::max(kLeastBound, used_bytes_ + free_bytes_at(options_.folder) / 2);
  }
}

std::shared_ptr<BlockCache> BlockCache::of_process() {
  ProcessOptions& process = process_options();
  const std::scoped_lock lock(process.mutex);
  if (process.made.process != ::getpid()) {
    if (process.made.cache != nullptr) process.left.push_back(std::move(process.made.cache));
    process.made = {.process = ::getpid()};
  }
  if (process.made.is_made) return process.made.cache;
  process.made.is_made = true;
  try {
    const CacheOptions options =
        process.options ? *process.options : cache_options_of_environment();
    if (!options.folder.empty()) process.made.cache = std::make_shared<BlockCache>(options);
  } catch (const Error& error) {
    fmt::print(stderr, "ffkit: there is no cache, and each epoch reads from the store: {}\n",
               error.what());
  }
  return process.made.cache;
}

void BlockCache::count_again() {
  const Clock::time_point begin = Clock::now();
  used_bytes_ = bytes_in_cache(options_.folder);
  counted_at_ = Clock::now();
  count_time_ = counted_at_ - begin;
}

bool BlockCache::reserve(int64_t num_blocks, int64_t num_bytes) {
  const int64_t wanted_bytes = num_bytes + num_blocks * kEntriesBytes;
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now < full_until_) return false;
  const auto fits = [&] {
    const int64_t more = reserved_bytes_ + wanted_bytes;
    return used_bytes_ + more <= options_.max_bytes &&
           free_bytes_at(options_.folder) - more >= options_.min_free_bytes;
  };
  // A count takes its time where there are many files: a fiftieth of it all, at most.
  const auto age = std::max<Clock::duration>(std::chrono::seconds(1), 50 * count_time_);
  if (!fits() || now - counted_at_ > age) count_again();
  if (!fits()) {
    // More than these blocks: removing takes as long for one as for many.
    const int64_t room = std::max(wanted_bytes, options_.max_bytes / 64);
    if (remove_unused(options_.folder, room) > 0) count_again();
  }
  if (fits()) {
    reserved_bytes_ += wanted_bytes;
    return true;
  }
  full_until_ = now + kFullFor;
  if (!std::exchange(has_said_full_, true)) {
    fmt::print(stderr,
               "ffkit: the cache {} is full ({:.1f} GB of at most {:.1f}, {:.1f} GB free on its "
               "disk), so each epoch reads the rest from the store; raise FFKIT_CACHE_BYTES, or "
               "set FFKIT_CACHE to a folder on another disk\n",
               options_.folder.string(), static_cast<double>(used_bytes_) / 1e9,
               static_cast<double>(options_.max_bytes) / 1e9,
               static_cast<double>(free_bytes_at(options_.folder)) / 1e9);
  }
  return false;
}

void BlockCache::settle(int64_t block_bytes, bool is_written) {
  const std::scoped_lock lock(mutex_);
  reserved_bytes_ -= block_bytes + kEntriesBytes;
  if (is_written) used_bytes_ += block_bytes + kEntriesBytes;
}

void BlockCache::disk_is_full() {
  const std::scoped_lock lock(mutex_);
  full_until_ = Clock::now() + kFullFor;
}

void BlockCache::say_broken(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(has_said_broken_, true)) return;
  fmt::print(stderr, "ffkit: each epoch reads from the store what the cache cannot keep: {}\n",
             error.what());
}

void BlockCache::use_set(const std::string& address) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<SetInUse>& set = sets_[address];
  if (set == nullptr) set = std::make_unique<SetInUse>(options_.folder, address);
}

void set_cache(const CacheOptions& options) {
  check_cache(options);
  ProcessOptions& process = process_options();
  const std::scoped_lock lock(process.mutex);
  process.options = options;
  if (process.made.process == ::getpid()) process.made = {};  // readers keep theirs
}

CacheOptions cache_options() {
  ProcessOptions& process = process_options();
  const std::scoped_lock lock(process.mutex);
  return process.options ? *process.options : cache_options_of_environment();
}

}  // namespace ffkit
