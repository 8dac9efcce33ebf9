#include <ffkit/storage/cache.h>

#include "reader/random_reader.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kObjectBytes = 20 << 20;

std::string content() {
  std::string bytes(kObjectBytes, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  return bytes;
}

std::string bytes_at(const RandomReader& reader, int64_t offset, size_t num_bytes) {
  std::string bytes(num_bytes, '\0');
  reader.read_at(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// The parent's threads, which would write blocks and call who waits, are not in the child.
TEST(ProcessReader, ReadsInAChildWhatItsParentHasNotRead) {
  FFKIT_SKIP_FORK_BESIDE_THREADS();
  const testing::TempDir dir;
  testing::write_file(dir / "object", content());
  for (const bool has_cache : {true, false}) {
    set_cache({.folder = has_cache ? dir / "cache" : std::filesystem::path(), .min_free_bytes = 0});
    const auto reader = open_random_reader("file://" + (dir / "object").string());
    constexpr int64_t kInFirstBlock = 5'000'000;
    constexpr int64_t kInSecondBlock = 12'000'000;
    EXPECT_EQ(bytes_at(*reader, kInFirstBlock, 1000), content().substr(kInFirstBlock, 1000));
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(300);
      const bool is_same =
          bytes_at(*reader, kInSecondBlock, 1000) == content().substr(kInSecondBlock, 1000) &&
          bytes_at(*reader, kInFirstBlock, 1000) == content().substr(kInFirstBlock, 1000);
      ::_exit(is_same ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "with a cache: " << has_cache;
    EXPECT_EQ(bytes_at(*reader, kInSecondBlock, 1000), content().substr(kInSecondBlock, 1000));
  }
  set_cache({});
}

TEST(ProcessReader, HasFetchedWhatIsAnnounced) {
  const testing::TempDir dir;
  testing::write_file(dir / "object", content());
  set_cache({.folder = dir / "cache", .min_free_bytes = 0});
  const auto reader = open_random_reader("file://" + (dir / "object").string());
  reader->announce(5'000'000, 1000);
  for (int i = 0; i < 20'000 && reader->descriptor_of(5'000'000, 1000) < 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(reader->descriptor_of(5'000'000, 1000), 0);
  set_cache({});
}

// The child goes on with the version that its parent has read.
TEST(ProcessReader, RefusesInAChildWhatWasReplaced) {
  FFKIT_SKIP_FORK_BESIDE_THREADS();
  const testing::TempDir dir;
  testing::write_file(dir / "object", content());
  set_cache({});
  const auto reader = open_random_reader("file://" + (dir / "object").string());
  EXPECT_EQ(bytes_at(*reader, 5'000'000, 10), content().substr(5'000'000, 10));
  testing::write_file(dir / "other", std::string(kObjectBytes, 'x'));
  std::filesystem::rename(dir / "other", dir / "object");
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(300);
    try {
      bytes_at(*reader, 5'000'000, 10);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::corrupt ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ffkit
