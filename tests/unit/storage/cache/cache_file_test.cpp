#include "cache/cache_file.h"

#include "cache/memory_store.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::random_bytes;

class CacheFileTest : public ::testing::Test {
 protected:
  static constexpr int64_t kBytes = 2 * kBlockBytes + 1000;

  std::span<const std::byte> block(int64_t number) const {
    const auto begin = static_cast<size_t>(number * kBlockBytes);
    return std::span(bytes_).subspan(begin, std::min<size_t>(kBlockBytes, bytes_.size() - begin));
  }
  std::unique_ptr<CacheFile> make(const std::string& key = "1234 s3://b/x",
                                  const std::string& version = "\"etag\"") {
    return CacheFile::make(path_, key, version, kBytes);
  }
  void overwrite(int64_t offset, std::string_view text) {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(::pwrite(fd, text.data(), text.size(), offset), static_cast<ssize_t>(text.size()));
    ::close(fd);
  }

  testing::TempDir dir_;
  const std::filesystem::path path_ = dir_ / "ffkit-x.blocks";
  const std::vector<std::byte> bytes_ = random_bytes(kBytes, 7);
};

TEST_F(CacheFileTest, HasTheBlocksThatWereWritten) {
  const auto file = make();
  EXPECT_EQ(file->num_blocks(), 3);
  EXPECT_EQ(file->block_size(2), 1000);
  EXPECT_FALSE(file->holds(0, 1));
  ASSERT_TRUE(file->claim(2));
  file->write(2, block(2));
  EXPECT_TRUE(file->holds(kBytes - 1000, 1000));
  EXPECT_FALSE(file->holds(kBytes - 1001, 1001));
  std::vector<std::byte> out(1000);
  file->read(kBytes - 1000, out);
  EXPECT_TRUE(std::ranges::equal(out, block(2)));
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 100'000);  // the rest are holes
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(CacheFileTest, IsFoundAgainForTheSameContentAlone) {
  make()->write(1, block(1));
  const auto found = CacheFile::find(path_, "1234 s3://b/x", kBytes);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->holds_block(1));
  EXPECT_EQ(found->version(), "\"etag\"");
  EXPECT_EQ(CacheFile::find(path_, "1235 s3://b/x", kBytes), nullptr);
  EXPECT_EQ(CacheFile::find(path_, "1234 s3://b/x", kBytes + 1), nullptr);
  EXPECT_EQ(CacheFile::find(dir_ / "none", "1234 s3://b/x", kBytes), nullptr);
}

TEST_F(CacheFileTest, OfAnotherVersionBeginsAnewAndTakesNothingFromWhoReads) {
  const auto old = make();
  old->write(0, block(0));
  const auto fresh = make("1234 s3://b/x", "\"other\"");
  EXPECT_FALSE(fresh->holds_block(0));
  EXPECT_TRUE(old->holds_block(0));
  std::vector<std::byte> out(kBlockBytes);
  old->read(0, out);
  EXPECT_TRUE(std::ranges::equal(out, block(0)));
}

TEST_F(CacheFileTest, ADamagedBlockIsDroppedAndNoOther) {
  const auto file = make();
  file->write(0, block(0));
  file->write(1, block(1));
  EXPECT_FALSE(file->drop_damaged(0, kBytes));
  overwrite(kBlockBytes + 5, "damage");
  EXPECT_FALSE(file->drop_damaged(0, 10));
  EXPECT_TRUE(file->drop_damaged(kBlockBytes - 10, 20));
  EXPECT_TRUE(file->holds_block(0));
  EXPECT_FALSE(file->holds_block(1));
  EXPECT_FALSE(file->drop_damaged(0, kBytes));
}

TEST_F(CacheFileTest, ClaimsAreOfOneAtATimeAndEndWithTheFile) {
  auto first = make();
  const auto second = make();
  EXPECT_TRUE(first->claim(1));
  EXPECT_FALSE(second->claim(1));
  EXPECT_TRUE(second->claim(0));
  first->release(1);
  EXPECT_TRUE(second->claim(1));
  second->release(1);
  EXPECT_TRUE(first->claim(1));
  first.reset();  // as a process that is killed
  EXPECT_TRUE(second->claim(1));
}

TEST_F(CacheFileTest, WhatOneWritesTheOtherSees) {
  const auto first = make();
  const auto second = make();
  EXPECT_FALSE(second->holds_block(0));
  first->write(0, block(0));
  EXPECT_TRUE(second->holds_block(0));
}

// The header names the start of the machine. After another one, an entry may be there whose block
// never reached the disk.
TEST_F(CacheFileTest, AfterAPowerCutBlocksAreComparedWithTheirChecksums) {
  {
    const auto file = make();
    file->write(0, block(0));
    file->write(1, block(1));
  }
  overwrite(kBlockBytes + 5000, "lost");  // of block 1
  const int64_t header_at = (kBytes + 4095) / 4096 * 4096;
  overwrite(header_at + 15, "00000000-0000-0000-0000-000000000000");
  const auto file = CacheFile::find(path_, "1234 s3://b/x", kBytes);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->holds_block(0));
  EXPECT_FALSE(file->holds_block(1));
  EXPECT_FALSE(file->holds_block(2));
  file->write(1, block(1));
  EXPECT_TRUE(CacheFile::find(path_, "1234 s3://b/x", kBytes)->holds_block(1));
}

TEST_F(CacheFileTest, AnythingElseUnderItsNameIsReplaced) {
  for (const std::string& content : {std::string("x"), std::string(30'000'000, 'x')}) {
    std::ofstream(path_, std::ios::trunc) << content;
    EXPECT_EQ(CacheFile::find(path_, "1234 s3://b/x", kBytes), nullptr);
    const auto file = make();
    EXPECT_FALSE(file->holds_block(0));
    file->write(0, block(0));
    EXPECT_TRUE(file->holds_block(0));
  }
}

}  // namespace
}  // namespace ffkit
