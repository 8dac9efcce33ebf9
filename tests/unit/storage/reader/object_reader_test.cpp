#include "cache/block_cache.h"
#include "cache/memory_store.h"
#include "reader/random_reader.h"
#include "stores/object_store.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::random_bytes;

// One object in memory, of a version that may change.
class OneObjectStore : public ObjectStore {
 public:
  explicit OneObjectStore(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  std::vector<std::byte> bytes_;
  std::string version_ = "\"1\"";
  std::vector<std::pair<int64_t, int64_t>> asked_;  // offset, bytes
  int num_found_ = 0;

  int64_t num_asked_bytes() const {
    int64_t sum = 0;
    for (const auto& [offset, num_bytes] : asked_) sum += num_bytes;
    return sum;
  }

  std::string read_all(const std::string&, int64_t) override { return {}; }
  std::optional<ObjectFacts> find(const std::string&) override {
    ++num_found_;
    return ObjectFacts{std::ssize(bytes_), version_};
  }
  Listing list(const std::string&, bool) override { return {}; }
  bool put(const std::string&, std::span<const std::byte>, bool) override { return false; }
  std::unique_ptr<Upload> upload(const std::string&, int64_t) override { return nullptr; }
  std::vector<UnfinishedUpload> list_uploads(const std::string&) override { return {}; }
  void abort_upload(const UnfinishedUpload&) override {}
  void remove(const std::string&) override {}

 protected:
  void read_range(RangeOfObject range, Done done) override {
    std::exception_ptr error;
    {
      const std::scoped_lock lock(mutex_);
      asked_.emplace_back(range.offset, std::ssize(range.into));
      if (!range.known.version.empty() && range.known.version != version_) {
        error = std::make_exception_ptr(
            Error(ErrorCode::corrupt, "the object was changed", {.path = range.address}));
      } else {
        std::memcpy(range.into.data(), bytes_.data() + range.offset, range.into.size());
        if (range.found_version != nullptr) *range.found_version = version_;
      }
    }
    done(error);
  }

 private:
  std::mutex mutex_;
};

class ObjectReaderTest : public ::testing::Test {
 protected:
  static constexpr int64_t kGroupBytes = kBlocksAround * kBlockBytes;
  static constexpr int64_t kBytes = 3 * kGroupBytes + (1 << 20) + 777;

  std::unique_ptr<RandomReader> open(const KnownFile& known, bool with_cache = true) {
    std::shared_ptr<BlockCache> cache;
    if (with_cache) {
      cache = std::make_shared<BlockCache>(CacheOptions{.folder = dir_ / "cache"},
                                           FetchQueue::kMostUnderway);
    }
    return open_object_reader(store_, "s3://bucket/set/x", known, std::move(cache));
  }
  bool is_right(const RandomReader& reader, int64_t offset, int64_t num_bytes) const {
    std::vector<std::byte> out(static_cast<size_t>(num_bytes));
    reader.read_at(offset, out);
    return std::memcmp(out.data(), store_->bytes_.data() + offset, out.size()) == 0;
  }
  static void wait_for(const RandomReader& reader, int64_t offset) {
    for (int i = 0; i < 20'000 && reader.descriptor_of(offset, 1) < 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  testing::TempDir dir_;
  std::shared_ptr<OneObjectStore> store_ =
      std::make_shared<OneObjectStore>(random_bytes(kBytes, 9));
  const KnownFile known_{.num_bytes = kBytes, .fingerprint = "12345678"};
};

TEST_F(ObjectReaderTest, AsksForBothEndsAtOnceAndForNothingElseToOpenAShard) {
  const auto reader = open(known_);
  EXPECT_EQ(store_->num_found_, 0);
  ASSERT_EQ(store_->asked_.size(), 2U);
  EXPECT_EQ(store_->asked_[0], std::pair(kBytes - (256 << 10), int64_t{256 << 10}));
  EXPECT_EQ(store_->asked_[1], std::pair(int64_t{0}, int64_t{4096}));
  EXPECT_TRUE(is_right(*reader, 0, 4096));
  EXPECT_TRUE(is_right(*reader, kBytes - 5000, 5000));
  EXPECT_EQ(store_->asked_.size(), 2U);
  EXPECT_EQ(reader->size(), kBytes);
  EXPECT_EQ(reader->descriptor(), -1);
}

TEST_F(ObjectReaderTest, OfUnknownSizeAsksForIt) {
  const auto reader = open({});
  EXPECT_EQ(store_->num_found_, 1);
  EXPECT_EQ(reader->size(), kBytes);
  EXPECT_TRUE(is_right(*reader, kGroupBytes - 10, 20));
}

TEST_F(ObjectReaderTest, WithoutACacheReadsWhatIsAskedFor) {
  const auto reader = open(known_, false);
  EXPECT_TRUE(is_right(*reader, kGroupBytes, 1000));
  EXPECT_EQ(store_->asked_.back(), std::pair(kGroupBytes, int64_t{1000}));
  EXPECT_EQ(reader->descriptor_of(kGroupBytes, 1000), -1);
}

TEST_F(ObjectReaderTest, WhatTheCacheHasIsNotAskedForAgain) {
  {
    const auto reader = open(known_);
    for (int64_t group = 0; group < 4; ++group) {
      EXPECT_TRUE(is_right(*reader, group * kGroupBytes + 5000, 600));
      wait_for(*reader, group * kGroupBytes);
    }
    const int fd = reader->descriptor_of(kGroupBytes - 5, 10);
    ASSERT_GE(fd, 0);
    std::vector<std::byte> out(10);
    ASSERT_EQ(::pread(fd, out.data(), out.size(), kGroupBytes - 5), 10);
    EXPECT_EQ(std::memcmp(out.data(), store_->bytes_.data() + kGroupBytes - 5, out.size()), 0);
  }
  store_->asked_.clear();
  const auto again = open(known_);
  EXPECT_TRUE(is_right(*again, 0, kBytes));
  EXPECT_TRUE(store_->asked_.empty());
  EXPECT_EQ(store_->num_found_, 0);
}

TEST_F(ObjectReaderTest, AnObjectThatChangesIsAnErrorAndNeverAMixture) {
  const auto reader = open(known_);
  EXPECT_TRUE(is_right(*reader, 5000, 10));
  store_->version_ = "\"2\"";
  std::vector<std::byte> out(10);
  EXPECT_ERROR_CODE(reader->read_at(2 * kGroupBytes, out), corrupt);
  EXPECT_TRUE(is_right(*reader, 5000, 10));  // what is there is of the old one
}

TEST_F(ObjectReaderTest, OtherContentHasABlockOfItsOwn) {
  {
    const auto reader = open(known_);
    EXPECT_TRUE(is_right(*reader, 5000, 10));
    wait_for(*reader, 5000);
  }
  store_->bytes_ = random_bytes(kBytes, 10);
  store_->version_ = "\"2\"";
  // As its manifest says; and the same fingerprint, which nothing should have twice.
  EXPECT_TRUE(is_right(*open({.num_bytes = kBytes, .fingerprint = "9abcdef0"}), 5000, 10));
  // Without one, the store's version counts.
  EXPECT_TRUE(is_right(*open({}), 5000, 10));
}

TEST_F(ObjectReaderTest, AStoreWithoutVersionsIsReadWithoutTheCache) {
  store_->version_.clear();
  const auto reader = open(known_);
  EXPECT_TRUE(is_right(*reader, kGroupBytes, 1000));
  EXPECT_TRUE(is_right(*reader, kGroupBytes, 1000));
  EXPECT_EQ(store_->asked_.back(), std::pair(kGroupBytes, int64_t{1000}));
  EXPECT_EQ(bytes_in_cache(dir_ / "cache"), 0);
}

TEST_F(ObjectReaderTest, EndsWhereTheManifestSaysSo) {
  const auto reader = open(known_);
  std::vector<std::byte> out(10);
  EXPECT_ERROR(reader->read_at(kBytes - 5, out, 3), corrupt, .record = 3);
}

}  // namespace
}  // namespace ffkit
