#include "cache/block_reader.h"

#include "cache/memory_store.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::MemoryObject;
using testing::random_bytes;
using testing::read_of;

class BlockReaderTest : public ::testing::Test {
 protected:
  // What comes where a block of it is needed.
  static constexpr int64_t kGroupBytes = kBlocksAround * kBlockBytes;
  static constexpr int64_t kGroups = 6;

  std::shared_ptr<BlockCache> cache_of(CacheOptions options) const {
    options.folder = dir_ / "cache";
    return std::make_shared<BlockCache>(options, FetchQueue::kMostUnderway);
  }
  std::shared_ptr<BlockReader> reader_of(const std::shared_ptr<BlockCache>& cache,
                                         MemoryObject& object, const std::string& name = "x") {
    cache->use_set("s3://b");
    const std::string key = "1 s3://b/" + name;
    return std::make_shared<BlockReader>(
        cache,
        CacheFile::make(cache_file_of(cache->folder(), "s3://b", key), key, "v", object.size()),
        object.fetch());
  }
  // What waits for a block has it before the block is written.
  static bool gets(const BlockReader& reader, int64_t offset, int64_t num_bytes) {
    for (int i = 0; i < 20'000 && !reader.file().holds(offset, num_bytes); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return reader.file().holds(offset, num_bytes);
  }
  // A thread of the cache may be the last to leave a set.
  void wait_until_unused() const {
    const auto is_used = [&] {
      return std::ranges::any_of(cached_sets(dir_ / "cache"), &CachedSet::is_in_use);
    };
    while (is_used()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  bool is_right(const MemoryObject& object, int64_t offset, const std::vector<std::byte>& read) {
    return std::ranges::equal(
        read, std::span(object.bytes()).subspan(static_cast<size_t>(offset), read.size()));
  }

  testing::TempDir dir_;
  MemoryObject object_{random_bytes((kGroups - 1) * kGroupBytes + 12345, 3)};
};

TEST_F(BlockReaderTest, FetchesAGroupOnceAndKeepsIt) {
  const auto cache = cache_of({.max_bytes = 1 << 30});
  {
    const auto reader = reader_of(cache, object_);
    for (const int64_t offset :
         {int64_t{100}, kGroupBytes - 50, int64_t{200}, object_.size() - 9}) {
      const int64_t num_bytes = std::min<int64_t>(100, object_.size() - offset);
      EXPECT_TRUE(is_right(object_, offset, read_of(*reader, offset, num_bytes)));
    }
    EXPECT_EQ(object_.num_fetches(), 3);  // the first, the second and the last group
    EXPECT_EQ(object_.num_fetched(), 2 * kGroupBytes + 12345);
    EXPECT_TRUE(is_right(object_, 0, read_of(*reader, 0, object_.size())));
    EXPECT_EQ(object_.num_fetched(), object_.size());
    EXPECT_TRUE(gets(*reader, 0, object_.size()));
  }
  const auto again = reader_of(cache, object_);
  EXPECT_TRUE(again->file().holds(0, object_.size()));
  EXPECT_TRUE(is_right(object_, 0, read_of(*again, 0, object_.size())));
  EXPECT_EQ(object_.num_fetched(), object_.size());
}

TEST_F(BlockReaderTest, ManyWhoWantABlockFetchItOnce) {
  object_.delay = std::chrono::milliseconds(20);
  const auto cache = cache_of({.max_bytes = 1 << 30});
  // Two readers, as of two processes: they know of each other by the file alone.
  const auto first = reader_of(cache, object_);
  const auto second = reader_of(cache, object_);
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      BlockReader& reader = t % 2 == 0 ? *first : *second;
      for (int64_t i = 0; i < kGroups; ++i) {
        const int64_t offset = i * kGroupBytes + t * kBlockBytes / 2;
        if (offset + 1000 > object_.size()) continue;
        if (!is_right(object_, offset, read_of(reader, offset, 1000))) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
  EXPECT_EQ(object_.num_fetched(), object_.size());
}

TEST_F(BlockReaderTest, FetchesWhatIsAnnouncedBeforeItIsRead) {
  const auto cache = std::make_shared<BlockCache>(CacheOptions{.folder = dir_ / "cache"}, 1);
  const auto reader = reader_of(cache, object_);
  reader->announce(0, object_.size());  // one after the other, then more at a time
  EXPECT_TRUE(gets(*reader, 0, object_.size()));
  EXPECT_TRUE(is_right(object_, 0, read_of(*reader, 0, object_.size())));
  EXPECT_EQ(object_.num_fetched(), object_.size());
}

TEST_F(BlockReaderTest, ReadsARecordAloneWhereNoBlockMayBeUnderway) {
  const auto cache = std::make_shared<BlockCache>(CacheOptions{.folder = dir_ / "cache"}, 0);
  const auto reader = reader_of(cache, object_);
  EXPECT_TRUE(is_right(object_, 5, read_of(*reader, 5, 100)));
  EXPECT_EQ(object_.num_fetched(), 100);
  // One request for what lies in several blocks.
  const int64_t begin = kBlockBytes - 10;
  EXPECT_TRUE(is_right(object_, begin, read_of(*reader, begin, kGroupBytes)));
  EXPECT_EQ(object_.num_fetches(), 2);
  EXPECT_EQ(object_.num_fetched(), 100 + kGroupBytes);
}

TEST_F(BlockReaderTest, SaysWhatIsComing) {
  object_.delay = std::chrono::milliseconds(20);
  const auto cache = std::make_shared<BlockCache>(CacheOptions{.folder = dir_ / "cache"}, 1);
  const auto reader = reader_of(cache, object_);
  EXPECT_FALSE(reader->is_coming(0, 100));
  constexpr int64_t kRuns = 3;
  constexpr int64_t kBytes = kRuns * kMostBytesOfRun;
  reader->announce(0, kBytes);  // one is underway, two wait
  for (const int64_t run : {0, 1, 2}) EXPECT_TRUE(reader->is_coming(run * kMostBytesOfRun, 100));
  EXPECT_FALSE(reader->is_coming(kBytes, 100));
  EXPECT_FALSE(reader->is_coming(kBytes - 10, 100)) << "its end is not announced";
  EXPECT_TRUE(gets(*reader, 0, kBytes));
  EXPECT_EQ(object_.num_fetches(), kRuns);
}

// Windowed orders announce their blocks, which end anywhere: one request each, and of what another
// one has brought the rest.
TEST_F(BlockReaderTest, WhatIsAnnouncedComesByARequestAndNotMoreThanItsBlocks) {
  const auto cache = cache_of({.max_bytes = 1 << 30});
  const auto reader = reader_of(cache, object_);
  reader->announce(kBlockBytes + 1000, 4 * kBlockBytes);  // blocks 1 to 5
  EXPECT_TRUE(gets(*reader, kBlockBytes, 5 * kBlockBytes));
  EXPECT_EQ(object_.num_fetches(), 1);
  EXPECT_EQ(object_.num_fetched(), 5 * kBlockBytes);
  EXPECT_FALSE(reader->file().holds_block(0));
  EXPECT_FALSE(reader->file().holds_block(6));
  reader->announce(4 * kBlockBytes + 1000, 4 * kBlockBytes);  // 6, 7 and 8 of 4 to 8
  EXPECT_TRUE(gets(*reader, kBlockBytes, 8 * kBlockBytes));
  EXPECT_EQ(object_.num_fetches(), 2);
  EXPECT_EQ(object_.num_fetched(), 8 * kBlockBytes);
  EXPECT_TRUE(is_right(object_, 0, read_of(*reader, 0, object_.size())));
  EXPECT_EQ(object_.num_fetched(), object_.size());
}

TEST_F(BlockReaderTest, FewBytesThatAreAnnouncedBringWhatIsAroundThem) {
  const auto cache = cache_of({.max_bytes = 1 << 30});
  const auto reader = reader_of(cache, object_);
  reader->announce(kGroupBytes + 3 * kBlockBytes, 100);
  EXPECT_TRUE(gets(*reader, kGroupBytes, kGroupBytes));
  EXPECT_EQ(object_.num_fetches(), 1);
  EXPECT_EQ(object_.num_fetched(), kGroupBytes);
}

// Another process has a block of a run: the others come at once, and that one when it is there.
TEST_F(BlockReaderTest, WhatAnotherProcessFetchesIsLeftToIt) {
  const auto cache = cache_of({.max_bytes = 1 << 30});
  const auto reader = reader_of(cache, object_);
  const std::string key = "1 s3://b/x";
  const auto other =
      CacheFile::make(cache_file_of(cache->folder(), "s3://b", key), key, "v", object_.size());
  ASSERT_TRUE(other->claim(1));
  auto waiting = std::async(std::launch::async, [&] { return read_of(*reader, 0, kGroupBytes); });
  EXPECT_TRUE(gets(*reader, 0, kBlockBytes));
  EXPECT_TRUE(gets(*reader, 2 * kBlockBytes, 2 * kBlockBytes));
  EXPECT_EQ(object_.num_fetched(), 3 * kBlockBytes);
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  const auto begin = static_cast<size_t>(kBlockBytes);
  other->write(1, std::span(object_.bytes()).subspan(begin, begin));
  other->release(1);
  EXPECT_TRUE(is_right(object_, 0, waiting.get()));
  EXPECT_EQ(object_.num_fetched(), 3 * kBlockBytes);
}

TEST_F(BlockReaderTest, NothingIsComingIntoAFullCache) {
  const auto cache = cache_of({.min_free_bytes = int64_t{1} << 60});
  const auto reader = reader_of(cache, object_);
  reader->announce(0, object_.size());
  EXPECT_FALSE(reader->is_coming(0, 100));
  EXPECT_EQ(object_.num_fetches(), 0);
}

TEST_F(BlockReaderTest, AFullCacheKeepsWhatItHasAndReadsTheRestAlone) {
  const auto cache = cache_of({.max_bytes = 64 << 20});
  MemoryObject large(random_bytes(12 * kGroupBytes, 5));
  const auto reader = reader_of(cache, large);
  for (int pass = 0; pass < 3; ++pass) {
    for (int64_t group = 0; group < 12; ++group) {
      const int64_t offset = group * kGroupBytes + 77;
      ASSERT_TRUE(is_right(large, offset, read_of(*reader, offset, 5000)));
      if (pass == 0 && group < 7) {
        ASSERT_TRUE(gets(*reader, offset, kGroupBytes - 77));
      }
    }
  }
  EXPECT_LE(bytes_in_cache(cache->folder()), 64 << 20);
  int64_t num_there = 0;
  for (int64_t group = 0; group < 12; ++group) {
    num_there += reader->file().holds(group * kGroupBytes, kGroupBytes);
  }
  EXPECT_GE(num_there, 7);
  EXPECT_LE(num_there, 8);
  // Of the others, the records alone, each time.
  EXPECT_EQ(large.num_fetched(), num_there * kGroupBytes + 3 * (12 - num_there) * 5000);
}

TEST_F(BlockReaderTest, AFullCacheTakesTheRoomOfSetsThatNobodyUses) {
  MemoryObject large(random_bytes(6 * kGroupBytes, 5));
  {
    const auto cache = cache_of({.max_bytes = 64 << 20});
    cache->use_set("s3://old");
    const std::string key = "1 s3://old/x";
    const auto reader = std::make_shared<BlockReader>(
        cache,
        CacheFile::make(cache_file_of(cache->folder(), "s3://old", key), key, "v", large.size()),
        large.fetch());
    read_of(*reader, 0, large.size());
    EXPECT_TRUE(gets(*reader, 0, large.size()));
  }
  wait_until_unused();
  std::ofstream(dir_ / "cache/mine.txt") << "not the cache's";
  std::ofstream(dir_ / "cache/ffkit-mine.blocks") << "nor this";
  EXPECT_EQ(cached_sets(dir_ / "cache").size(), 1U);
  const auto cache = cache_of({.max_bytes = 64 << 20});
  const auto reader = reader_of(cache, object_);
  read_of(*reader, 0, object_.size());
  EXPECT_TRUE(gets(*reader, 0, object_.size()));
  const std::vector<CachedSet> sets = cached_sets(dir_ / "cache");
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets.front().address, "s3://b");
  EXPECT_TRUE(sets.front().is_in_use);
  EXPECT_EQ(clean_cache(dir_ / "cache"), 0);  // in use
  EXPECT_TRUE(std::filesystem::exists(dir_ / "cache/mine.txt"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "cache/ffkit-mine.blocks"));
}

TEST_F(BlockReaderTest, CleaningRemovesWhatNobodyUses) {
  {
    const auto cache = cache_of({.max_bytes = 1 << 30});
    const auto reader = reader_of(cache, object_);
    read_of(*reader, 0, object_.size());
    EXPECT_TRUE(gets(*reader, 0, object_.size()));
  }
  wait_until_unused();
  EXPECT_EQ(clean_cache(dir_ / "cache", "s3://other"), 0);
  EXPECT_GE(clean_cache(dir_ / "cache", "s3://b"), object_.size());
  EXPECT_TRUE(cached_sets(dir_ / "cache").empty());
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "cache"));
}

TEST_F(BlockReaderTest, AnErrorIsOfAllWhoWaitAndTheBlockIsFetchedAnew) {
  const auto cache = cache_of({.max_bytes = 1 << 30});
  const auto reader = reader_of(cache, object_);
  object_.error =
      std::make_exception_ptr(Error(ErrorCode::io, "the store is gone", {.path = "s3://b/x"}));
  EXPECT_ERROR_CODE(read_of(*reader, 5, 100), io);
  object_.error = nullptr;
  EXPECT_TRUE(is_right(object_, 5, read_of(*reader, 5, 100)));
  EXPECT_TRUE(gets(*reader, 0, 1));
}

TEST_F(BlockReaderTest, BlocksThatAreUnderwayCountForTheBound) {
  const auto cache = cache_of({.max_bytes = 64 << 20, .min_free_bytes = 0});
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(cache->reserve(1, kGroupBytes)) << i;
  cache->settle(kGroupBytes, /*is_written=*/false);
  EXPECT_TRUE(cache->reserve(1, kGroupBytes));
  EXPECT_FALSE(cache->reserve(1, kGroupBytes));
}

TEST_F(BlockReaderTest, AFreeDiskIsLeftFree) {
  // More than any disk has.
  const auto cache = cache_of({.max_bytes = 1 << 30, .min_free_bytes = int64_t{1} << 60});
  const auto reader = reader_of(cache, object_);
  EXPECT_TRUE(is_right(object_, 5, read_of(*reader, 5, 100)));
  EXPECT_FALSE(reader->file().holds_block(0));
  EXPECT_EQ(object_.num_fetched(), 100);
  EXPECT_TRUE(is_right(object_, 5, read_of(*reader, 5, kGroupBytes - 5)));
  EXPECT_EQ(object_.num_fetches(), 2);
  // Nobody has to wait for blocks that are not fetched.
  const std::string key = "1 s3://b/x";
  const auto other =
      CacheFile::make(cache_file_of(cache->folder(), "s3://b", key), key, "v", object_.size());
  for (int64_t block = 0; block < kBlocksAround; ++block) EXPECT_TRUE(other->claim(block));
}

TEST_F(BlockReaderTest, ABoundBelowAFewBlocksIsRefused) {
  EXPECT_ERROR_CODE(cache_of({.max_bytes = 1000}), invalid_argument);
}

// A process that is killed while it has a block underway leaves nothing that others wait for.
TEST_F(BlockReaderTest, AProcessThatIsKilledLeavesItsBlocksToOthers) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Claims, tells so, and waits for its end.
    const std::string key = "1 s3://b/x";
    std::filesystem::create_directories(dir_ / "cache");
    const auto file =
        CacheFile::make(cache_file_of(dir_ / "cache", "s3://b", key), key, "v", object_.size());
    const char said = file->claim(0) ? 'y' : 'n';
    [[maybe_unused]] const ssize_t n = ::write(ready[1], &said, 1);
    while (true) ::pause();
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  const auto cache = cache_of({.max_bytes = 1 << 30});
  const auto reader = reader_of(cache, object_);
  auto waiting = std::async(std::launch::async, [&] { return read_of(*reader, 10, 100); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_right(object_, 10, waiting.get()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(CacheOptions, AreOfTheEnvironment) {
  ::setenv("FFKIT_CACHE", "/data/cache", 1);
  for (const auto& [text, bytes] : {std::pair{"200G", int64_t{200'000'000'000}},
                                    {"1.5TB", int64_t{1'500'000'000'000}},
                                    {"100Mi", int64_t{100} << 20},
                                    {"123456789", int64_t{123456789}}}) {
    ::setenv("FFKIT_CACHE_BYTES", text, 1);
    EXPECT_EQ(cache_options_of_environment().max_bytes, bytes) << text;
    EXPECT_EQ(cache_options_of_environment().folder, "/data/cache");
  }
  for (const char* wrong : {"much", "5X", "-1", "5GG"}) {
    ::setenv("FFKIT_CACHE_BYTES", wrong, 1);
    EXPECT_ERROR(cache_options_of_environment(), invalid_argument);
  }
  for (const char* off : {"none", "0"}) {
    ::setenv("FFKIT_CACHE", off, 1);
    EXPECT_TRUE(cache_options_of_environment().folder.empty()) << off;
  }
  ::setenv("FFKIT_CACHE", "off", 1);
  ::unsetenv("FFKIT_CACHE_BYTES");
  EXPECT_TRUE(cache_options_of_environment().folder.empty());
  ::unsetenv("FFKIT_CACHE");
  ::setenv("TMPDIR", "/scratch", 1);
  EXPECT_EQ(cache_options_of_environment().folder.parent_path(), "/scratch");
  ::unsetenv("TMPDIR");
  EXPECT_ERROR(set_cache({.folder = "/data", .max_bytes = 1000}), invalid_argument);
}

TEST(BlockCache, RefusesADefaultFolderThatALinkLeadsOutOf) {
  const testing::TempDir temporary;
  const testing::TempDir elsewhere;
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  const CacheOptions options = cache_options_of_environment();
  EXPECT_EQ(options.folder.parent_path(), temporary.path());
  std::filesystem::create_directory_symlink(elsewhere.path(), options.folder);
  EXPECT_ERROR(BlockCache(CacheOptions(options)), invalid_argument, .path = options.folder);
  std::filesystem::remove(options.folder);
  const BlockCache made(options);
  struct stat status {};
  ASSERT_EQ(::lstat(options.folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  const BlockCache again(options);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace ffkit
