#include "reader/object_reader.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "format/make_error.h"

namespace ffkit {
namespace {

// A shard's header.
constexpr int64_t kBeginBytes = 4096;
// Its trailer, its catalog, and the index of 8,000 records with their columns.
constexpr int64_t kEndBytes = 256 << 10;

// Bytes that are underway, and then there.
class KeptRange {
 public:
  KeptRange(ObjectStore& store, const std::string& address, int64_t offset, int64_t num_bytes,
            const std::string& version)
      : offset_(offset), bytes_(std::make_shared<std::vector<std::byte>>(num_bytes)) {
    auto arrived = std::make_shared<std::promise<void>>();
    arrived_ = arrived->get_future().share();
    // The bytes live as long as the read, also where this does not.
    store.read(address, offset, *bytes_, version,
               [arrived, bytes = bytes_](const std::exception_ptr& error) {
                 if (error == nullptr) {
                   arrived->set_value();
                 } else {
                   arrived->set_exception(error);
                 }
               });
  }

  bool holds(int64_t offset, size_t num_bytes) const {
    return offset >= offset_ &&
           offset - offset_ + static_cast<int64_t>(num_bytes) <= std::ssize(*bytes_);
  }
  // Waits. Precondition: holds().
  void copy(int64_t offset, std::span<std::byte> out) const {
    arrived_.get();
    std::memcpy(out.data(), bytes_->data() + (offset - offset_), out.size());
  }

 private:
  const int64_t offset_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::shared_future<void> arrived_;
};

class ObjectReader final : public RandomReader {
 public:
  ObjectReader(std::shared_ptr<ObjectStore> store, const std::filesystem::path& address,
               int64_t num_bytes)
      : store_(std::move(store)), path_(address), address_(address.native()), size_(num_bytes) {
    if (size_ < 0) {
      const std::optional<ObjectFacts> facts = store_->find(address_);
      if (!facts) throw error_at(path_, ErrorCode::not_found, "there is no such object");
      size_ = facts->num_bytes;
      version_ = facts->version;
    }
    if (size_ == 0) return;
    const int64_t end_bytes = std::min(size_, kEndBytes);
    end_.emplace(*store_, address_, size_ - end_bytes, end_bytes, version_);
    if (end_bytes < size_) {
      begin_.emplace(*store_, address_, 0, std::min(size_, kBeginBytes), version_);
    }
  }

  const std::filesystem::path& path() const noexcept override { return path_; }
  int64_t size() const override { return size_; }
  int descriptor() const noexcept override { return -1; }
  void announce(int64_t, int64_t) const noexcept override {}

  void read_at(int64_t offset, std::span<std::byte> out, int64_t record) const override {
    require_within(offset, out.size(), record);
    if (const KeptRange* kept = kept_for(offset, out.size())) {
      kept->copy(offset, out);
    } else {
      store_->read(address_, offset, out, version_);
    }
  }

  void read(int64_t offset, std::span<std::byte> out, Done done) const override {
    std::exception_ptr error;
    try {
      require_within(offset, out.size(), -1);
      const KeptRange* kept = kept_for(offset, out.size());
      if (kept == nullptr) {
        store_->read(address_, offset, out, version_, std::move(done));
        return;
      }
      kept->copy(offset, out);
    } catch (...) {
      error = std::current_exception();
    }
    done(std::move(error));
  }

 private:
  const KeptRange* kept_for(int64_t offset, size_t num_bytes) const {
    for (const std::optional<KeptRange>* range : {&end_, &begin_}) {
      if (*range && (*range)->holds(offset, num_bytes)) return &**range;
    }
    return nullptr;
  }

  void require_within(int64_t offset, size_t num_bytes, int64_t record) const {
    const int64_t end = offset + static_cast<int64_t>(num_bytes);
    if (end <= size_) return;
    throw Error(
        ErrorCode::corrupt,
        fmt::format("the object ends at byte {}, but {} more bytes belong to it; it was cut "
                    "off, copy or convert it again",
                    size_, end - size_),
        {.path = address_, .record = record, .offset = offset});
  }

  const std::shared_ptr<ObjectStore> store_;
  const std::filesystem::path path_;
  const std::string address_;
  int64_t size_;
  std::string version_;
  std::optional<KeptRange> begin_;
  std::optional<KeptRange> end_;
};

}  // namespace

std::unique_ptr<RandomReader> open_object_reader(std::shared_ptr<ObjectStore> store,
                                                 const std::filesystem::path& address,
                                                 int64_t num_bytes) {
  return std::make_unique<ObjectReader>(std::move(store), address, num_bytes);
}

}  // namespace ffkit
