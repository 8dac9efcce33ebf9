// What a conversion is made from must not change between its runs, nor differ between its parts.
#include <ffkit/sources/coco.h>
#include <ffkit/sources/jsonl.h>
#include <ffkit/sources/transcode.h>
#include <ffkit/sources/webdataset.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

constexpr int kPictures = 30;

// A JPEG of 100 kB, so that 30 of them are 3 shards.
std::string large_picture(int number) {
  return jpeg_picture(number) + std::string(100'000, static_cast<char>(number));
}

std::string name_of(int number) {
  return fmt::format("{:02}.jpg", number);
}

ConvertOptions part_options(BadSamples bad_samples = BadSamples::fail) {
  return {.num_threads = 2,
          .shard_bytes = 1 << 20,
          .order = Order::sequential,
          .bad_samples = bad_samples};
}

// A source whose last sample is bad: a conversion ends there with two finished shards, and goes on
// with BadSamples::skip.
class ChangedSourceTest : public ::testing::Test {
 protected:
  using Open = std::function<std::unique_ptr<Source>()>;

  void begin(const Open& open) {
    EXPECT_ERROR(convert(*open(), dir_ / "out", part_options()), unsupported, .subject = sample);
    begun_ = files_of(dir_ / "out");
  }
  // Everything is as it was when the conversion is refused.
  void expect_refusal(const Open& open) {
    ConvertOptions options = part_options(BadSamples::skip);
    options.resume = true;
    EXPECT_ERROR(convert(*open(), dir_ / "out", options), invalid_argument, .subject = destination);
    EXPECT_TRUE(files_of(dir_ / "out") == begun_);
  }
  void expect_success(const Open& open) {
    ConvertOptions options = part_options(BadSamples::skip);
    options.resume = true;
    EXPECT_EQ(convert(*open(), dir_ / "out", options).num_skipped(), 1);
  }

  TempDir dir_;
  std::map<std::string, std::string> begun_;
};

TEST_F(ChangedSourceTest, PicturesAreToldByNameSizeAndContent) {
  for (int i = 0; i < kPictures; ++i) write_file(dir_ / "src/cat" / name_of(i), large_picture(i));
  const fs::path bad = dir_ / "src/cat/bad.jpg";
  write_file(bad, "no picture");
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  begin(open);

  const fs::path first = dir_ / "src/cat" / name_of(0);
  const auto time = fs::last_write_time(first);
  std::string other = large_picture(0);
  other.back() = 'x';
  write_file(first, other);
  fs::last_write_time(first, time + std::chrono::seconds(1));
  expect_refusal(open);
  fs::last_write_time(first, time);
  write_file(dir_ / "src/cat/new.jpg", large_picture(1));
  expect_refusal(open);
  fs::remove(dir_ / "src/cat/new.jpg");
  write_file(dir_ / "src/dog/1.jpg", large_picture(1));
  expect_refusal(open);
  fs::remove_all(dir_ / "src/dog");
  fs::resize_file(first, fs::file_size(first) - 1);
  fs::last_write_time(first, time);
  expect_refusal(open);

  write_file(first, large_picture(0));
  fs::last_write_time(first, time);
  // Where the source lies does not matter.
  fs::rename(dir_ / "src", dir_ / "moved");
  expect_success([&] { return open_image_folder(dir_ / "moved"); });
}

// Its times have changed, so records are compared: there is one more than there are.
TEST_F(ChangedSourceTest, BadPicturesThatAreGoodNowAreTold) {
  const std::string good = large_picture(1);
  for (const char* name : {"00.jpg", "01.jpg"}) write_file(dir_ / "src/cat" / name, good);
  const fs::path last = dir_ / "src/cat/02.jpg";
  write_file(last, std::string(good.size(), 'x'));
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  ConvertOptions options = part_options(BadSamples::skip);
  EXPECT_EQ(convert(*open(), dir_ / "out", options).num_skipped(), 1);
  options.resume = true;
  const auto time = fs::last_write_time(last);
  fs::last_write_time(last, time + std::chrono::seconds(1));
  EXPECT_TRUE(convert(*open(), dir_ / "out", options).was_finished);

  const auto finished = files_of(dir_ / "out");
  write_file(last, good);
  fs::last_write_time(last, time + std::chrono::seconds(2));
  EXPECT_ERROR(convert(*open(), dir_ / "out", options), invalid_argument, .path = dir_ / "out");
  EXPECT_TRUE(files_of(dir_ / "out") == finished);
}

TEST_F(ChangedSourceTest, AnnotationFilesAreToldByTheirContent) {
  std::string images;
  for (int i = 0; i < kPictures; ++i) {
    write_file(dir_ / "src/train" / name_of(i), large_picture(i));
    images += fmt::format(R"({{"id": {}, "file_name": "{}", "width": 16, "height": 16}}, )", i,
                          name_of(i));
  }
  write_file(dir_ / "src/train/bad.jpg", "no picture");
  images += R"({"id": 99, "file_name": "bad.jpg", "width": 1, "height": 1})";
  const fs::path annotations = dir_ / "src/annotations/instances_train.json";
  const auto write = [&](int x) {
    write_file(annotations,
               fmt::format(R"({{"images": [{}], "categories": [{{"id": 1, "name": "cat"}}],
                   "annotations": [{{"id": 1, "image_id": 20, "category_id": 1, "bbox": [{}, 1, 2, 3]}}]}})",
                           images, x));
  };
  write(1);
  const auto time = fs::last_write_time(annotations);
  const auto open = [&] { return open_coco(dir_ / "src"); };
  begin(open);
  write(2);  // of equal size
  fs::last_write_time(annotations, time);
  expect_refusal(open);
  write(1);
  expect_success(open);
}

TEST_F(ChangedSourceTest, LinesAreToldByTheirContent) {
  const auto write = [&](char c) {
    std::string lines;
    for (int i = 0; i < kPictures; ++i) {
      lines += "{\"text\": \"" + std::string(100'000, i == 25 ? c : 'a') + "\"}\n";
    }
    write_file(dir_ / "src/train-0.jsonl", lines + "{\"text\": 5}\n");
  };
  write('a');
  const auto open = [&] { return open_jsonl(dir_ / "src"); };
  EXPECT_ERROR(convert(*open(), dir_ / "out", part_options()), invalid_argument, .subject = sample);
  begun_ = files_of(dir_ / "out");
  write('b');
  expect_refusal(open);
  write('a');
  expect_success(open);
}

TEST_F(ChangedSourceTest, ArchivesAreToldBySizeAndContent) {
  testing::TarBuilder tar;
  for (int i = 0; i < kPictures; ++i) tar.add(name_of(i), large_picture(i));
  tar.add("bad.cls", "").add("bad.jpg", "");
  write_file(dir_ / "src/train/0.tar", tar.finish());
  const auto open = [&] { return open_webdataset(dir_ / "src", {.allow_missing = true}); };
  EXPECT_ERROR(convert(*open(), dir_ / "out", part_options()), invalid_argument, .subject = sample);
  begun_ = files_of(dir_ / "out");
  const fs::path tar_file = dir_ / "src/train/0.tar";
  const auto time = fs::last_write_time(tar_file);
  const std::string bytes = read_file(tar_file);
  std::string other = bytes;
  other[512 + large_picture(0).size() - 1] = 'x';  // of the first picture
  write_file(tar_file, other);
  fs::last_write_time(tar_file, time + std::chrono::seconds(1));
  expect_refusal(open);
  write_file(tar_file, bytes);
  fs::last_write_time(tar_file, time + std::chrono::seconds(1));
  expect_success(open);  // as after a copy
}

// A data set that is finished knows what its source was.
class FinishedSourceTest : public ::testing::Test {
 protected:
  using Open = std::function<std::unique_ptr<Source>()>;

  void finish(const Open& open) {
    convert(*open(), dir_ / "out", part_options(BadSamples::skip));
    finished_ = files_of(dir_ / "out");
  }
  ConvertSummary resume(const Open& open, BadSamples bad_samples = BadSamples::skip) {
    ConvertOptions options = part_options(bad_samples);
    options.resume = true;
    return convert(*open(), dir_ / "out", options);
  }
  void expect_refusal(const Open& open) {
    EXPECT_ERROR(resume(open), invalid_argument);
    EXPECT_TRUE(files_of(dir_ / "out") == finished_);
  }
  void expect_success(const Open& open) {
    EXPECT_TRUE(resume(open).was_finished);
    EXPECT_TRUE(files_of(dir_ / "out") == finished_);
  }

  TempDir dir_;
  std::map<std::string, std::string> finished_;
};

TEST_F(FinishedSourceTest, PicturesAreToldByNameSizeAndContent) {
  const fs::path first = dir_ / "src/train/cat/a.jpg";
  write_file(first, jpeg_picture(1));
  write_file(dir_ / "src/train/dog/b.jpg", jpeg_picture(2));
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  finish(open);
  expect_success(open);

  const auto time = fs::last_write_time(first);
  fs::last_write_time(first, time + std::chrono::seconds(1));
  expect_success(open);  // as after a copy
  std::string other = jpeg_picture(1);
  other.back() = 'x';
  write_file(first, other);
  fs::last_write_time(first, time + std::chrono::seconds(1));
  expect_refusal(open);
  write_file(first, jpeg_picture(1) + "x");
  fs::last_write_time(first, time);
  expect_refusal(open);
  write_file(first, jpeg_picture(1));
  fs::rename(first, dir_ / "src/train/cat/b.jpg");
  expect_refusal(open);
  fs::rename(dir_ / "src/train/cat/b.jpg", first);
  fs::last_write_time(first, time);
  expect_success(open);
}

// It has no record now: the ones before it are as they were.
TEST_F(FinishedSourceTest, LastPictureThatHasBecomeBadIsNamed) {
  write_file(dir_ / "src/train/cat/a.jpg", jpeg_picture(1));
  const fs::path last = dir_ / "src/train/cat/b.jpg";
  write_file(last, jpeg_picture(2));
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  finish(open);
  const auto time = fs::last_write_time(last);
  write_file(last, std::string(jpeg_picture(2).size(), 'x'));
  fs::last_write_time(last, time + std::chrono::seconds(1));
  expect_refusal(open);
}

TEST_F(FinishedSourceTest, AnnotationsAreToldByTheirContent) {
  const fs::path lines = dir_ / "src/train-0.jsonl";
  write_file(lines, "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
  const auto open = [&] { return open_jsonl(dir_ / "src"); };
  finish(open);
  fs::last_write_time(lines, fs::last_write_time(lines) + std::chrono::seconds(1));
  expect_success(open);  // its content is the same
  write_file(lines, "{\"text\": \"a\"}\n{\"text\": \"c\"}\n");
  expect_refusal(open);
}

TEST_F(FinishedSourceTest, SamplesThatWereLeftOutAreNoErrorsThatStopIt) {
  write_file(dir_ / "src/train/cat/a.jpg", jpeg_picture(1));
  write_file(dir_ / "src/train/cat/b.jpg", "no picture");
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  finish(open);
  expect_success(open);
  EXPECT_ERROR(resume(open, BadSamples::fail), invalid_argument);
}

TEST_F(FinishedSourceTest, SamplesThatWereKeptAlthoughBadFitNothingElse) {
  write_file(dir_ / "src/train/cat/a.jpg", jpeg_picture(1));
  write_file(dir_ / "src/train/cat/b.jpg", "no picture");
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  ConvertOptions options = part_options(BadSamples::keep);
  convert(*open(), dir_ / "out", options);
  options.resume = true;
  EXPECT_TRUE(convert(*open(), dir_ / "out", options).was_finished);
  for (const BadSamples bad_samples : {BadSamples::fail, BadSamples::skip}) {
    options.bad_samples = bad_samples;
    EXPECT_ERROR(convert(*open(), dir_ / "out", options), invalid_argument);
  }
}

TEST_F(FinishedSourceTest, IsRefusedWithoutAListing) {
  write_file(dir_ / "src/train/cat/a.jpg", jpeg_picture(1));
  const auto open = [&] { return open_image_folder(dir_ / "src"); };
  finish(open);
  const fs::path path = dir_ / "out/train/manifest.json";
  Manifest manifest = read_manifest(path);
  EXPECT_EQ(manifest.source.erase("listing"), 1U);
  write_manifest(path, manifest);
  finished_ = files_of(dir_ / "out");
  expect_refusal(open);
  manifest.source["listing"] = "{}";
  write_manifest(path, manifest);
  finished_ = files_of(dir_ / "out");
  expect_refusal(open);
}

TEST_F(FinishedSourceTest, IsNotCalledTheSourceOfWhatIsMadeOfIt) {
  write_file(dir_ / "src/train/cat/a.jpg", jpeg_picture(1));
  finish([&] { return open_image_folder(dir_ / "src"); });
  const std::unique_ptr<Source> source = open_datasets(open_splits(dir_ / "out"));
  EXPECT_FALSE(source->facts(0).contains("listing"));
  convert(*source, dir_ / "again", part_options());
  convert(*open_image_folder(dir_ / "src"), dir_ / "second", part_options());
  write_file(dir_ / "more/train/cat/b.jpg", jpeg_picture(2));
  convert(*open_image_folder(dir_ / "more"), dir_ / "third", part_options());
  merge_datasets(dir_ / "merged", {dir_ / "second", dir_ / "third"}, {});
  EXPECT_FALSE(read_manifest(dir_ / "merged/train/manifest.json").source.contains("listing"));
}

class CountingSource : public FakeSource {
 public:
  using FakeSource::FakeSource;
  SampleIdentity identity(size_t split, int64_t index) const override {
    ++num_asked;
    return FakeSource::identity(split, index);
  }
  mutable int64_t num_asked = 0;
};

TEST(SampleIdentities, AreAskedForOnce) {
  const TempDir dir;
  ConvertOptions options = part_options();
  const CountingSource whole(3000);
  convert(whole, dir / "whole", options);
  EXPECT_EQ(whole.num_asked, 3000);
  options.part = {.index = 2, .count = 2};
  const CountingSource shared(3000);
  convert(shared, dir / "part", options);
  EXPECT_EQ(shared.num_asked, 3000);
}

// Parts made from `first` and `second`, then merged.
void merge_parts(const fs::path& dir, const fs::path& first, const fs::path& second) {
  ConvertOptions options = part_options();
  options.part = {.index = 1, .count = 2};
  convert(*open_image_folder(first), dir / "part-1", options);
  options.part.index = 2;
  convert(*open_image_folder(second), dir / "part-2", options);
  merge_datasets(dir / "merged", {dir / "part-1", dir / "part-2"}, {});
}

TEST(Parts, OfOneSourceInTwoPlacesAreWhatOneMachineMakes) {
  const TempDir dir;
  for (int i = 0; i < kPictures; ++i) {
    for (const char* place : {"a", "b"}) {
      write_file(dir / place / "train/cat" / name_of(i), large_picture(i));
      write_file(dir / place / "val/cat" / name_of(i), jpeg_picture(i));
    }
  }
  merge_parts(dir.path(), dir / "a", dir / "b");
  convert(*open_image_folder(dir / "a"), dir / "whole", part_options());
  // The only shard of val is of part 2, and so is the path in its manifest.
  auto merged = files_of(dir / "merged");
  auto whole = files_of(dir / "whole");
  EXPECT_TRUE(merged["train/manifest.json"] == whole["train/manifest.json"]);
  merged.erase("val/manifest.json");
  whole.erase("val/manifest.json");
  EXPECT_TRUE(merged == whole);
}

TEST(Parts, OfSourcesThatDifferAreRefused) {
  const TempDir dir;
  const auto expect_refusal = [&](const std::function<void(const fs::path&)>& change) {
    for (const char* place : {"a", "b"}) {
      for (int i = 0; i < kPictures; ++i) {
        write_file(dir / place / "train/cat" / name_of(i), large_picture(i));
      }
      write_file(dir / place / "val/cat/1.jpg", large_picture(1));
    }
    change(dir / "b");
    EXPECT_ERROR(merge_parts(dir.path(), dir / "a", dir / "b"), invalid_argument);
    EXPECT_FALSE(fs::exists(dir / "merged"));
    for (const char* folder : {"a", "b", "part-1", "part-2"}) fs::remove_all(dir / folder);
  };
  expect_refusal([](const fs::path& b) { write_file(b / "train/cat/00a.jpg", large_picture(1)); });
  expect_refusal(
      [](const fs::path& b) { fs::rename(b / "train/cat/00.jpg", b / "train/cat/29a.jpg"); });
  expect_refusal([](const fs::path& b) { fs::resize_file(b / "train/cat/20.jpg", 100'000); });
  // A split of which the other machine makes nothing.
  expect_refusal([](const fs::path& b) { write_file(b / "val/cat/2.jpg", large_picture(2)); });
}

TEST(Parts, MayDifferInOnErrorUnlessBadSamplesAreKeptHereAndLeftOutThere) {
  const TempDir dir;
  const FakeSource source(4000);
  const auto make = [&](int64_t index, BadSamples bad_samples) {
    ConvertOptions options = part_options(bad_samples);
    options.part = {.index = index, .count = 3};
    const fs::path part = dir / fmt::format("{}-{}", index, to_string(bad_samples));
    convert(source, part, options);
    return part;
  };
  const fs::path fail = make(1, BadSamples::fail);
  const fs::path skip = make(2, BadSamples::skip);
  EXPECT_ERROR(merge_datasets(dir / "merged", {fail, skip, make(3, BadSamples::keep)}, {}),
               invalid_argument);
  merge_datasets(dir / "merged", {fail, skip, make(3, BadSamples::skip)}, {});
  const Dataset merged = Dataset::open(dir / "merged", "train");
  for (const auto& [name, unused] : merged.manifest().options) {
    EXPECT_FALSE(name.starts_with("part")) << name;
  }
}

TEST(Parts, WithoutAFingerprintAreRefused) {
  const TempDir dir;
  std::vector<fs::path> parts;
  for (const int64_t index : {1, 2}) {
    ConvertOptions options = part_options();
    options.part = {.index = index, .count = 2};
    parts.push_back(dir / std::to_string(index));
    convert(FakeSource(3000), parts.back(), options);
    Manifest manifest = read_manifest(parts.back() / "train/manifest.json");
    manifest.options.erase("part_plan");
    manifest.options.erase("part_bad_samples");
    write_manifest(parts.back() / "train/manifest.json", manifest);
  }
  EXPECT_ERROR(merge_datasets(dir / "merged", parts, {}), invalid_argument);
  Manifest manifest = read_manifest(parts.back() / "train/manifest.json");
  manifest.options["part_plan"] = "0123456789abcdef";
  write_manifest(parts.back() / "train/manifest.json", manifest);
  EXPECT_ERROR(merge_datasets(dir / "merged", parts, {}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
