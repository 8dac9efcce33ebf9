#include "converter/input/input_file.h"
#include "converter/places/read_ahead.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

// A file of a store: file:// is one.
class ObjectFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 draw(3);
    content_.resize(20 << 20);
    for (size_t i = 0; i < content_.size(); i += 4) {
      const uint32_t word = draw();
      std::memcpy(&content_[i], &word, 4);
    }
    write(content_);
  }

  void write(const std::string& content) const { std::ofstream(path()) << content; }
  fs::path path() const { return dir_ / "object"; }
  fs::path address() const { return "file://" + path().string(); }

  std::string read(const InputFile& file, int64_t offset, size_t num_bytes) const {
    std::string out(num_bytes, '\0');
    file.read_at(offset, std::as_writable_bytes(std::span(out)));
    return out;
  }
  std::string expected(int64_t offset, size_t num_bytes) const {
    return content_.substr(static_cast<size_t>(offset), num_bytes);
  }

  testing::TempDir dir_;
  std::string content_;
};

TEST_F(ObjectFileTest, GivesAllThatIsAskedForInWhateverOrder) {
  const read_ahead::Scope scope;
  const InputFile file(address());
  EXPECT_EQ(file.size(), std::ssize(content_));
  // In a row, in pieces that do not fit into the requests.
  constexpr size_t kPiece = 300'001;
  for (int64_t at = 0; at + std::ssize(content_) / 8 < std::ssize(content_); at += kPiece) {
    ASSERT_EQ(read(file, at, kPiece), expected(at, kPiece)) << at;
  }
  // Announced, neighbours and others; read in another order, some twice, some never.
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 60; ++i) places.push_back(i * 200'000 + (i % 3) * 70'000);
  for (const int64_t at : places) file.will_read(at, 100'000);
  for (size_t i = places.size(); i-- > 0;) {
    if (i % 7 == 0) continue;
    ASSERT_EQ(read(file, places[i], 100'000), expected(places[i], 100'000)) << i;
    if (i % 5 == 0) {
      ASSERT_EQ(read(file, places[i] + 5, 90'000), expected(places[i] + 5, 90'000)) << i;
    }
  }
}

TEST_F(ObjectFileTest, IsReadByManyThreads) {
  const read_ahead::Scope scope;
  const InputFile file(address());
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong = 0;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 draw(t);
      for (int i = 0; i < 200; ++i) {
        const auto at = static_cast<int64_t>(draw() % (content_.size() - 70'000));
        if (i % 2 == 0) file.will_read(at, 70'000);
        if (read(file, at, 70'000) != expected(at, 70'000)) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST_F(ObjectFileTest, AsksForMoreOnlyOfStores) {
  const read_ahead::Scope scope;
  const InputFile local(path());
  local.will_read(0, 1000);
  EXPECT_FALSE(read_ahead::wants_more());
  const InputFile object(address());
  object.will_read(0, 1000);
  EXPECT_TRUE(read_ahead::wants_more());
}

TEST_F(ObjectFileTest, IsAnErrorByNameWhenItChanges) {
  const FileStamp listed = InputFile(address()).stamp();
  const InputFile file(address());
  EXPECT_EQ(read(file, 0, 100), expected(0, 100));
  content_[5] ^= 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time has steps on some disks
  write(content_);
  EXPECT_ERROR(read(file, 1000, 100), not_found, .path = address());
  EXPECT_ERROR(read(InputFile(address(), listed), 0, 100), not_found);
  EXPECT_NE(InputFile(address()).stamp(), listed);
  // Also of what was announced.
  const InputFile later(address(), listed);
  later.will_read(0, 100);
  EXPECT_ERROR(read(later, 0, 100), not_found);
  fs::resize_file(path(), 10);
  EXPECT_ERROR(read(file, 1000, 100), not_found);
}

TEST_F(ObjectFileTest, SaysWhatIsNotThere) {
  EXPECT_ERROR(InputFile("file:///nothing/at/all"), not_found);
  std::error_code error;
  stamp_of("file:///nothing/at/all", error);
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

TEST_F(ObjectFileTest, AsAWholeHasALimit) {
  EXPECT_EQ(read_source_text(address()), content_);
  EXPECT_EQ(read_source_bytes(address()).size(), content_.size());
  EXPECT_ERROR(read_source_text(address(), 1000), unsupported);
}

}  // namespace
}  // namespace ffkit
