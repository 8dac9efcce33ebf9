#include "reader/open_shards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "shard/shard_file.h"
#include "shard/shard_layout.h"
#include "storage/addresses/place.h"

namespace ffkit {

// What is known of it without opening it comes from the manifest; the rest from the open file.
class OpenShards::Shard final : public ShardFile {
 public:
  Shard(OpenShards& all, const std::filesystem::path& folder, const std::string& name,
        const ShardSummary& listed)
      : all_(all),
        folder_(folder),
        name_(name),
        listed_(listed),
        is_local_(start_of_address(folder.native()).empty()) {}
  ~Shard() override { delete path_.load(); }

  const ShardSummary& listed() const { return listed_; }

  // Made when it is asked for.
  const std::filesystem::path& path() const override {
    const std::filesystem::path* known = path_.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    auto made = std::make_unique<const std::filesystem::path>(folder_ / name_);
    if (path_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
      return *made.release();
    }
    return *known;
  }
  std::shared_ptr<const RandomReader> reader() const override { return all_.get(*this)->reader(); }
  const Schema& schema() const override { return all_.schema_; }
  ShardFacts facts() const override { return all_.get(*this)->facts(); }
  ShardSummary summary() const override { return listed_; }
  bool is_kept_open() const noexcept override { return false; }
  bool is_local() const override { return is_local_; }

  RecordLocation locate(int64_t record) const override { return all_.get(*this)->locate(record); }

  void will_locate(int64_t record) const override {
    if (const auto file = all_.find(*this)) {
      file->will_locate(record);
    } else if (!is_announced_.exchange(true, std::memory_order_relaxed)) {
      if (is_local()) {
        announce_shard(path(), listed_.file_bytes);
      } else {
        all_.begin(*this);
      }
    }
  }

  std::span<const std::byte> unpack(int64_t record, const RecordLocation& where,
                                    std::span<const std::byte> stored,
                                    UnpackBuffers& buffers) const override {
    if (where.codec == Codec::none) return stored;
    return all_.get(*this)->unpack(record, where, stored, buffers);
  }

  std::vector<std::byte> scalar_column(size_t field) const override {
    return all_.get(*this)->scalar_column(field);
  }
  std::vector<std::string> string_column(size_t field) const override {
    return all_.get(*this)->string_column(field);
  }
  std::vector<std::byte> stream(const std::string& name) const override {
    return all_.get(*this)->stream(name);
  }
  std::vector<ShardProblem> verify_index() const override {
    return all_.get(*this)->verify_index();
  }

  void forget_announcement() const { is_announced_.store(false, std::memory_order_relaxed); }

 private:
  OpenShards& all_;
  const std::filesystem::path& folder_;
  const std::string& name_;
  const ShardSummary& listed_;
  const bool is_local_;
  mutable std::atomic<const std::filesystem::path*> path_{nullptr};
  // Since it was closed; to announce it takes four system calls.
  mutable std::atomic<bool> is_announced_{false};
};

OpenShards::OpenShards(int64_t max_open, Schema schema, Open open)
    : max_open_(std::max<int64_t>(max_open, 1)),
      schema_(std::move(schema)),
      open_(std::move(open)),
      state_([](const State*) { return std::make_unique<State>(); }) {}

std::unique_ptr<ShardFile> OpenShards::shard(const std::filesystem::path& folder,
                                             const std::string& name, const ShardSummary& listed) {
  return std::make_unique<Shard>(*this, folder, name, listed);
}

std::shared_ptr<const ShardFile> OpenShards::find(const Shard& shard) {
  State& state = state_.get();
  const std::scoped_lock lock(state.mutex);
  const auto found = state.places.find(&shard);
  if (found == state.places.end()) return nullptr;
  state.entries.splice(state.entries.begin(), state.entries, found->second);
  return found->second->file;
}

std::shared_ptr<const ShardFile> OpenShards::get(const Shard& shard) {
  if (auto file = find(shard)) return file;
  State& state = state_.get();
  const std::scoped_lock one_opens(
      state.opening[std::hash<const Shard*>{}(&shard) / alignof(Shard) % state.opening.size()]);
  if (auto file = find(shard)) return file;
  std::shared_ptr<const RandomReader> begun;
  {
    const std::scoped_lock lock(state.mutex);
    if (const auto found = state.begun.find(&shard); found != state.begun.end()) {
      begun = std::move(found->second);
      state.begun.erase(found);
    }
  }
  shard.forget_announcement();
  std::shared_ptr<const ShardFile> file =
      open_(shard.path(), std::move(begun), shard.listed(), schema_);
  std::list<Entry> closed;  // without the lock: to close a file may take long
  {
    const std::scoped_lock lock(state.mutex);
    state.entries.push_front({&shard, file});
    state.places[&shard] = state.entries.begin();
    while (std::ssize(state.entries) > max_open_) {
      state.places.erase(state.entries.back().shard);
      closed.splice(closed.begin(), state.entries, std::prev(state.entries.end()));
    }
  }
  return file;
}

void OpenShards::begin(const Shard& shard) noexcept {
  try {
    std::shared_ptr<const RandomReader> reader =
        open_random_reader(shard.path(), known_file(shard.listed()));
    State& state = state_.get();
    const std::scoped_lock lock(state.mutex);
    if (std::ssize(state.begun) < max_open_) state.begun.emplace(&shard, std::move(reader));
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // Opening it says what is wrong.
  }
}

KnownFile known_file(const ShardSummary& listed) {
  return {.num_bytes = listed.file_bytes, .fingerprint = fmt::format("{:08x}", listed.checksum)};
}

void announce_shard(const std::filesystem::path& path, int64_t file_bytes) noexcept {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  (void)::posix_fadvise(fd, 0, kHeaderBytes, POSIX_FADV_WILLNEED);
  (void)::posix_fadvise(fd, std::max<int64_t>(file_bytes - kTailBytes, 0), kTailBytes,
                        POSIX_FADV_WILLNEED);
  ::close(fd);
}

}  // namespace ffkit
