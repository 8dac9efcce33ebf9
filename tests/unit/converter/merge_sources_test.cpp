// What merge and append do with their sources: locked, taken once, with what was said about their
// samples.
#include <sys/file.h>

#include <ffkit/converter/remove.h>
#include <ffkit/format/content_sum.h>
#include <ffkit/sources/transcode.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

// A split "train" of which `bad` samples are named in the report.
void make_set(const fs::path& folder, int64_t num_samples, const std::vector<int64_t>& bad = {}) {
  convert(FakeSource(num_samples, bad, /*salt=*/num_samples), folder,
          {.num_threads = 1, .order = Order::sequential, .bad_samples = BadSamples::skip});
}

int64_t num_records(const fs::path& folder) {
  return Dataset::open(folder, "train").num_records();
}

std::string report_of(const fs::path& folder) {
  return fs::exists(folder / "report.jsonl") ? testing::read_file(folder / "report.jsonl") : "";
}

// As another process holds it.
class HeldLock {
 public:
  HeldLock(const fs::path& folder, int operation)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    EXPECT_EQ(::flock(fd_, operation | LOCK_NB), 0) << folder;
  }
  ~HeldLock() { ::close(fd_); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;

 private:
  int fd_;
};

class MergeSourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    make_set(dir_ / "a", 20, {3});
    make_set(dir_ / "b", 21, {5, 6});
    make_set(dir_ / "dst", 22, {7});
  }

  TempDir dir_;
};

TEST_F(MergeSourcesTest, AreNotMovedWhileAnotherReadsThem) {
  const MergeOptions move{.transfer = ShardTransfer::move};
  {
    const HeldLock reader(dir_ / "a", LOCK_SH);
    EXPECT_ERROR(merge_datasets(dir_ / "out", {dir_ / "b", dir_ / "a"}, move), invalid_argument);
    EXPECT_ERROR(append_datasets(dir_ / "dst", {dir_ / "a"}, move), invalid_argument);
    EXPECT_ERROR(append_datasets(dir_ / "a", {dir_ / "b"}, {}), invalid_argument);
    EXPECT_FALSE(fs::exists(dir_ / "out"));
    // Several may read.
    EXPECT_EQ(merge_datasets(dir_ / "out", {dir_ / "b", dir_ / "a"}, {}).num_records(), 38);
    fs::remove_all(dir_ / "out");
  }
  EXPECT_EQ(merge_datasets(dir_ / "out", {dir_ / "b", dir_ / "a"}, move).num_records(), 38);
}

TEST_F(MergeSourcesTest, AreNotReadWhileAnotherMovesThem) {
  const HeldLock mover(dir_ / "a", LOCK_EX);
  EXPECT_ERROR(merge_datasets(dir_ / "out", {dir_ / "b", dir_ / "a"}, {}), invalid_argument);
  EXPECT_ERROR(append_datasets(dir_ / "dst", {dir_ / "a"}, {}), invalid_argument);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
  EXPECT_EQ(num_records(dir_ / "dst"), 21);
}

TEST_F(MergeSourcesTest, AreNotTakenTwiceInTheShapeOfACopy) {
  fs::copy(dir_ / "a", dir_ / "copy", fs::copy_options::recursive);
  EXPECT_ERROR(merge_datasets(dir_ / "out", {dir_ / "a", dir_ / "b", dir_ / "copy"}, {}),
               invalid_argument);
  EXPECT_ERROR(append_datasets(dir_ / "dst", {dir_ / "a", dir_ / "copy"}, {}), invalid_argument);
  // A part of it is there already.
  merge_datasets(dir_ / "both", {dir_ / "a", dir_ / "b"}, {});
  EXPECT_ERROR(append_datasets(dir_ / "a", {dir_ / "both"}, {}), invalid_argument);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
  EXPECT_EQ(num_records(dir_ / "dst"), 21);
}

// Shards tell copies of a file. These are copies of the data: in another order, in the dct code,
// with smaller pictures.
TEST_F(MergeSourcesTest, AreNotTakenTwiceInWhateverWayTheyAreStored) {
  for (int i = 0; i < 3; ++i) {
    const fs::path path = dir_ / fmt::format("src/train/cat/{}.jpg", i);
    testing::write_file(path, testing::jpeg_picture(i, 64));
  }
  const auto source = [&](const ImageStorage& images) {
    return open_image_folder(dir_ / "src", {.images = images});
  };
  convert(*source({}), dir_ / "plain", {});
  convert(*source({}), dir_ / "seed", {.seed = 5});
  convert(*source({.store = StoreAs::dct}), dir_ / "dct", {});
  convert(*source({}), dir_ / "packed", {.zstd_level = 3, .zstd_dictionary_bytes = 1024});
  convert(*source({.max_resolution = 40}), dir_ / "small", {});
  convert(*open_transcoded(open_splits(dir_ / "plain"), {}), dir_ / "transcoded",
          {.order = Order::sequential});
  for (const char* copy : {"seed", "dct", "packed", "small", "transcoded"}) {
    EXPECT_ERROR(merge_datasets(dir_ / "out", {dir_ / "plain", dir_ / copy}, {}), invalid_argument);
    EXPECT_ERROR(append_datasets(dir_ / copy, {dir_ / "plain"}, {}), invalid_argument);
  }
  EXPECT_ERROR(append_datasets(dir_ / "small", {dir_ / "dct"}, {}), invalid_argument);
  // Of the resized ones, the shards keep the sums, also through copies.
  convert(*open_transcoded(open_splits(dir_ / "small"), {.store = StoreAs::dct}),
          dir_ / "small-dct", {.order = Order::sequential});
  EXPECT_ERROR(append_datasets(dir_ / "small-dct", {dir_ / "seed"}, {}), invalid_argument);
  EXPECT_EQ(num_records(dir_ / "small-dct"), 3);
}

// Only what is changed is kept: the shards of others are what they were.
TEST_F(MergeSourcesTest, KeepSumsOfChangedPicturesAlone) {
  testing::write_file(dir_ / "src/train/cat/0.jpg", testing::jpeg_picture(0, 64));
  const auto convert_to = [&](const char* name, const ImageStorage& images) {
    convert(*open_image_folder(dir_ / "src", {.images = images}), dir_ / name, {});
    return kept_contents(ShardReader(dir_ / name / "train/shard-00000.ffr"));
  };
  EXPECT_THAT(convert_to("plain", {}), ::testing::IsEmpty());
  EXPECT_THAT(convert_to("large", {.max_resolution = 64}), ::testing::IsEmpty());
  const std::vector<ContentSum> dct = convert_to("dct", {.store = StoreAs::dct});
  ASSERT_EQ(dct.size(), 1U);
  EXPECT_EQ(dct[0].num_bytes, fs::file_size(dir_ / "src/train/cat/0.jpg"));
  EXPECT_EQ(convert_to("small", {.max_resolution = 40}), dct);
  EXPECT_EQ(convert_to("raw", {.store = StoreAs::raw}), dct);
  convert(*open_transcoded(open_splits(dir_ / "dct"), {.store = StoreAs::jpeg}), dir_ / "back",
          {.order = Order::sequential});
  EXPECT_THAT(kept_contents(ShardReader(dir_ / "back/train/shard-00000.ffr")),
              ::testing::IsEmpty());
}

// Names, sizes and classes do not tell what a picture is: its bytes do.
TEST_F(MergeSourcesTest, AreToldByTheBytesOfTheirFiles) {
  const std::string picture = testing::jpeg_picture(1, 64);
  std::string other = picture;
  other[picture.size() - 3] ^= 1;  // of the scan
  testing::write_file(dir_ / "one/train/cat/0.jpg", picture);
  testing::write_file(dir_ / "two/train/cat/0.jpg", other);
  testing::write_file(dir_ / "grown/train/cat/new.jpg", testing::jpeg_picture(2, 64));
  testing::write_file(dir_ / "grown/train/cat/copy.jpg", picture);
  for (const char* name : {"one", "two", "grown"}) {
    convert(*open_image_folder(dir_ / name), dir_ / "sets" / name, {});
  }
  const fs::path sets = dir_ / "sets";
  EXPECT_EQ(merge_datasets(sets / "both", {sets / "one", sets / "two"}, {}).num_records(), 2);
  try {
    append_datasets(sets / "one", {sets / "grown"}, {.duplicate_ids = dir_ / "ids"});
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("1 of its 2 records"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'cat/copy.jpg' here and 'cat/0.jpg' there"));
  }
  EXPECT_EQ(testing::read_file(dir_ / "ids"), "cat/copy.jpg\n");
  // Both ways round.
  append_datasets(sets / "two", {sets / "grown"}, {});
  EXPECT_EQ(num_records(sets / "two"), 3);
  remove_records(sets / "grown", {.ids_file = dir_ / "ids"});
  append_datasets(sets / "one", {sets / "grown"}, {});
  EXPECT_EQ(num_records(sets / "one"), 2);
  append_datasets(sets / "one", {sets / "two"}, {.duplicates = Duplicates::keep});
  EXPECT_EQ(num_records(sets / "one"), 5);
}

TEST_F(MergeSourcesTest, BringTheirLinesOfTheReport) {
  const std::string all = report_of(dir_ / "dst") + report_of(dir_ / "a") + report_of(dir_ / "b");
  ASSERT_EQ(std::ranges::count(all, '\n'), 4);
  const std::string before = report_of(dir_ / "dst");
  // Not when it fails: the manifest cannot be written.
  fs::create_directory(dir_ / "dst/train/manifest.json.tmp");
  EXPECT_ERROR(append_datasets(dir_ / "dst", {dir_ / "a", dir_ / "b"}, {}), io);
  EXPECT_EQ(report_of(dir_ / "dst"), before);
  fs::remove(dir_ / "dst/train/manifest.json.tmp");
  // Once, also where an addition was killed before its manifest.
  testing::write_file(dir_ / "dst/report.jsonl", all);
  append_datasets(dir_ / "dst", {dir_ / "a", dir_ / "b"}, {.transfer = ShardTransfer::move});
  EXPECT_EQ(report_of(dir_ / "dst"), all);
  // To one without a report.
  make_set(dir_ / "clean", 23);
  append_datasets(dir_ / "clean", {dir_ / "dst"}, {});
  EXPECT_EQ(report_of(dir_ / "clean"), all);
}

}  // namespace
}  // namespace ffkit
