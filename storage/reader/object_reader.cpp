// RandomReader of an object in a store.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <ffkit/storage/storage_options.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "cache/block_cache.h"
#include "cache/block_reader.h"
#include "cache/range_memory.h"
#include "reader/random_reader.h"
#include "stores/arriving.h"
#include "stores/object_store.h"

namespace ffkit {
namespace {

// A shard's header.
constexpr int64_t kBeginBytes = 4096;
// Its trailer, its catalog, and the index of 8,000 records with their columns.
constexpr int64_t kEndBytes = 256 << 10;

// A header of a cache file has a page for them.
constexpr size_t kMostKeyBytes = 2000;

// Bytes that are underway, and then there.
class KeptRange {
 public:
  // Of any version, where `known` has none.
  KeptRange(ObjectStore& store, const std::string& address, int64_t offset, int64_t num_bytes,
            const ObjectFacts& known)
      : offset_(offset),
        num_bytes_(num_bytes),
        arriving_(std::make_shared<Arriving>(static_cast<size_t>(num_bytes))) {
    arriving_->version = known.version;
    if (known.version.empty()) {
      const std::shared_ptr<std::string> found(arriving_, &arriving_->version);
      store.read_latest(address, offset, arriving_->bytes, known.num_bytes, found,
                        tells(arriving_));
    } else {
      store.read(address, offset, arriving_->bytes, known, tells(arriving_));
    }
  }

  bool holds(int64_t offset, size_t num_bytes) const {
    return offset >= offset_ && offset - offset_ + static_cast<int64_t>(num_bytes) <= num_bytes_;
  }
  // Waits. Precondition: holds().
  void copy(int64_t offset, std::span<std::byte> out) const {
    arriving_->wait();
    std::memcpy(out.data(), arriving_->bytes.data() + (offset - offset_), out.size());
  }
  // Waits. Empty: the store has none.
  const std::string& version() const {
    arriving_->wait();
    return arriving_->version;
  }

 private:
  const int64_t offset_;
  const int64_t num_bytes_;
  const std::shared_ptr<Arriving> arriving_;
};

class StoreReader final : public ObjectReader {
 public:
  StoreReader(std::shared_ptr<ObjectStore> store, const std::filesystem::path& address,
              const KnownFile& known, std::shared_ptr<BlockCache> cache)
      : store_(std::move(store)),
        path_(address),
        address_(address.native()),
        size_(known.num_bytes),
        cache_(std::move(cache)),
        version_(known.version) {
    std::string fingerprint = known.fingerprint;
    if (size_ < 0) {
      const std::optional<ObjectFacts> facts = store_->find(address_);
      if (!facts) throw error_at(path_, ErrorCode::not_found, "there is no such object");
      size_ = facts->num_bytes;
      version_ = facts->version;
    }
    if (fingerprint.empty()) fingerprint = version_;
    if (size_ == 0) return;
    find_in_cache(fingerprint);
    ask_for_ends();
  }

  ~StoreReader() override { memory_->forget(this); }
  StoreReader(const StoreReader&) = delete;
  StoreReader& operator=(const StoreReader&) = delete;

  const std::filesystem::path& path() const noexcept override { return path_; }
  int64_t size() const override { return size_; }
  int descriptor() const noexcept override { return -1; }
  void announce(int64_t offset, int64_t num_bytes) const noexcept override {
    try {
      if (kept_for(offset, static_cast<size_t>(num_bytes)) != nullptr) return;
      require_one_version();
      if (const std::shared_ptr<BlockReader> cached = blocks()) {
        cached->announce(offset, num_bytes);
        if (cached->is_coming(offset, num_bytes)) return;
      }
      memory_->announce(this, offset, num_bytes, fetch());
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The read says what is wrong.
    }
  }

  int descriptor_of(int64_t offset, int64_t num_bytes) const override {
    const std::shared_ptr<BlockReader> blocks = known_blocks();
    const bool is_there = blocks != nullptr && blocks->file().holds(offset, num_bytes);
    return is_there ? blocks->file().descriptor() : -1;
  }

  bool is_coming(int64_t offset, int64_t num_bytes) const override {
    const std::shared_ptr<BlockReader> blocks = known_blocks();
    return (blocks != nullptr && blocks->is_coming(offset, num_bytes)) ||
           memory_->is_coming(this, offset, num_bytes);
  }

  bool drop_damaged_copy(int64_t offset, int64_t num_bytes) const override {
    const std::shared_ptr<BlockReader> blocks = known_blocks();
    const bool is_dropped = blocks != nullptr && blocks->file().drop_damaged(offset, num_bytes);
    if (is_dropped) {
      fmt::print(stderr,
                 "ffkit: the cache's copy of {} was damaged on the disk; it is fetched again\n",
                 shown_address(address_));
    }
    return is_dropped;
  }

  std::string version_if_known() const override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock() ? version_ : std::string();
  }

  void read_at(int64_t offset, std::span<std::byte> out, int64_t record) const override {
    require_within(offset, out.size(), record);
    if (const KeptRange* kept = kept_for(offset, out.size())) {
      require_one_version();
      kept->copy(offset, out);
      return;
    }
    const auto arriving = std::make_shared<Arriving>(out.size());
    read_elsewhere(offset, arriving->bytes, tells(arriving));
    arriving->copy(out);
  }

  void read(int64_t offset, std::span<std::byte> out, Done done) const override {
    std::exception_ptr error;
    try {
      require_within(offset, out.size(), -1);
      const KeptRange* kept = kept_for(offset, out.size());
      if (kept == nullptr) {
        read_elsewhere(offset, out, std::move(done));
        return;
      }
      require_one_version();
      kept->copy(offset, out);
    } catch (...) {
      error = std::current_exception();
    }
    if (done != nullptr) done(std::move(error));
  }

 private:
  void find_in_cache(const std::string& fingerprint) {
    if (cache_ == nullptr) return;
    const std::string endpoint = endpoint_in_options(address_);
    const std::string at = endpoint.empty() ? endpoint : " at " + endpoint;
    key_ = fingerprint + " " + without_marks(address_) + at;
    const bool may_be_kept = !fingerprint.empty() && key_.size() <= kMostKeyBytes &&
                             key_.find('\n') == std::string::npos;
    if (!may_be_kept) {
      cache_ = nullptr;
      return;
    }
    const std::string set = without_marks(path_.parent_path().native()) + at;
    try {
      cache_->use_set(set);
      cache_path_ = cache_file_of(cache_->folder(), set, key_);
      std::unique_ptr<CacheFile> file = CacheFile::find(cache_path_, key_, size_);
      if (file == nullptr || (!version_.empty() && file->version() != version_)) return;
      version_ = file->version();
      blocks_ = blocks_of(std::move(file));
    } catch (const Error& error) {
      go_without_cache(error);
    }
  }

  // Those of the store, unless the cache has them.
  void ask_for_ends() {
    const int64_t end_bytes = std::min(size_, kEndBytes);
    const auto ask = [&](int64_t offset, int64_t num_bytes, std::optional<KeptRange>& range) {
      if (blocks_ != nullptr && blocks_->file().holds(offset, num_bytes)) return;
      range.emplace(*store_, address_, offset, num_bytes, ObjectFacts{size_, version_});
    };
    ask(size_ - end_bytes, end_bytes, end_);
    if (end_bytes < size_) ask(0, std::min(size_, kBeginBytes), begin_);
  }

  std::shared_ptr<BlockReader> blocks_of(std::unique_ptr<CacheFile> file) const {
    return std::make_shared<BlockReader>(cache_, std::move(file), fetch_of(version_));
  }

  BlockReader::Fetch fetch_of(const std::string& version) const {
    return [store = store_, address = address_, known = ObjectFacts{size_, version}](
               int64_t offset, std::span<std::byte> into, BlockReader::Done done) {
      store->read(address, offset, into, known, std::move(done));
    };
  }
  BlockReader::Fetch fetch() const {
    const std::scoped_lock lock(mutex_);
    return fetch_of(version_);
  }

  std::shared_ptr<BlockReader> known_blocks() const {
    const std::scoped_lock lock(mutex_);
    return blocks_;
  }

  // Null without a cache.
  std::shared_ptr<BlockReader> blocks() const {
    const std::scoped_lock lock(mutex_);
    if (blocks_ != nullptr || cache_ == nullptr) return blocks_;
    // A store without versions cannot say that all blocks are of the same object.
    if (version_.empty()) {
      cache_ = nullptr;
      return nullptr;
    }
    try {
      blocks_ = blocks_of(CacheFile::make(cache_path_, key_, version_, size_));
    } catch (const Error& error) {
      go_without_cache(error);
    }
    return blocks_;
  }

  void go_without_cache(const Error& error) const {
    cache_->say_broken(error);
    cache_ = nullptr;
  }

  void read_elsewhere(int64_t offset, std::span<std::byte> out, Done done) const {
    std::string version;
    try {
      require_one_version();
      if (memory_->read(this, offset, out, done)) return;
      if (const std::shared_ptr<BlockReader> cached = blocks()) {
        cached->read(offset, out, std::move(done));
        return;
      }
      const std::scoped_lock lock(mutex_);
      version = version_;
    } catch (...) {
      done(std::current_exception());
      return;
    }
    store_->read(address_, offset, out, {size_, version}, std::move(done));
  }

  // The ends may have been read of any version; from then on it is that one.
  void require_one_version() const {
    const std::scoped_lock lock(mutex_);
    for (const std::optional<KeptRange>* range : {&end_, &begin_}) {
      if (!*range) continue;
      const std::string& found = (*range)->version();
      if (version_.empty()) version_ = found;
      if (found == version_) continue;
      throw Error(ErrorCode::corrupt, "the object was changed while it was opened",
                  {.path = address_, .remedy = "open it again"});
    }
  }

  const KeptRange* kept_for(int64_t offset, size_t num_bytes) const {
    for (const std::optional<KeptRange>* range : {&end_, &begin_}) {
      if (*range && (*range)->holds(offset, num_bytes)) return &**range;
    }
    return nullptr;
  }

  void require_within(int64_t offset, size_t num_bytes, int64_t record) const {
    const int64_t end = offset + static_cast<int64_t>(num_bytes);
    if (end <= size_) return;
    throw Error(ErrorCode::corrupt,
                fmt::format("the object was cut off: it ends at byte {}, but {} more bytes belong "
                            "to it; copy or convert it again",
                            size_, end - size_),
                {.path = address_, .record = record, .offset = offset});
  }

  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<RangeMemory> memory_ = RangeMemory::of_process();
  const std::filesystem::path path_;
  const std::string address_;
  int64_t size_;
  std::string key_;  // of the cache
  std::filesystem::path cache_path_;
  std::optional<KeptRange> begin_;
  std::optional<KeptRange> end_;
  mutable std::mutex mutex_;                     // guards what follows
  mutable std::shared_ptr<BlockCache> cache_;    // null: without
  mutable std::shared_ptr<BlockReader> blocks_;  // null: not yet
  mutable std::string version_;                  // empty: not known yet, or the store has none
};

}  // namespace

std::unique_ptr<ObjectReader> open_object_reader(std::shared_ptr<ObjectStore> store,
                                                 const std::filesystem::path& address,
                                                 const KnownFile& known,
                                                 std::shared_ptr<BlockCache> cache) {
  return std::make_unique<StoreReader>(std::move(store), address, known, std::move(cache));
}

}  // namespace ffkit
