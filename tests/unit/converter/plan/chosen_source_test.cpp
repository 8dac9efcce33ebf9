// Conversions of the samples with some ids alone: `ConvertOptions::only`.
#include "plan/chosen_source.h"

#include <ffkit/converter/v1.h>
#include <ffkit/sources/demo.h>
#include <ffkit/sources/jsonl.h>
#include <ffkit/sources/registry.h>
#include <ffkit/sources/transcode.h>
#include <ffkit/sources/webdataset.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

using Texts = std::vector<std::string>;

class Only : public ::testing::Test {
 protected:
  ConvertOptions options(std::vector<std::string> ids) {
    ConvertOptions options = options_without_ids();
    options.only_ids = std::move(ids);
    return options;
  }

  ConvertOptions options_in(const std::string& text) {
    write_file(dir_ / "ids.txt", text);
    ConvertOptions options = options_without_ids();
    options.only = dir_ / "ids.txt";
    return options;
  }

  ConvertOptions options_without_ids() {
    return {.num_threads = 2,
            .shard_bytes = 1 << 20,
            .order = Order::sequential,
            .note = [this](const std::string& sentence) { notes_.push_back(sentence); }};
  }

  static Texts ids_of(const fs::path& folder, const std::string& split = "train") {
    return Dataset::open(folder, split).string_column("id");
  }

  // Folders of pictures: train/{cat,dog}/<n>.jpg with 4 each, val/{cat,dog}/<n>.jpg with 1 each.
  fs::path folder_of_pictures() {
    const std::string bytes = testing::jpeg_picture(1);
    for (const char* name : {"cat", "dog"}) {
      for (const char* number : {"1", "2", "3", "#4"}) {
        write_file(dir_ / "src/train" / name / (std::string(number) + ".jpg"), bytes);
      }
      write_file(dir_ / "src/val" / name / "9.jpg", bytes);
    }
    return dir_ / "src";
  }

  TempDir dir_;
  Texts notes_;
};

TEST_F(Only, TakesTheSamplesOfAFileInTheOrderOfTheSource) {
  const auto source = open_image_folder(folder_of_pictures());
  const ConvertSummary summary =
      convert(*source, dir_ / "out",
              options_in("\xEF\xBB\xBF"
                         "dog/2.jpg\r\n\ncat/#4.jpg\ndog/2.jpg\ncat/9.jpg\ncat/8.jpg\n"));
  EXPECT_THAT(ids_of(dir_ / "out"), ElementsAre("cat/#4.jpg", "dog/2.jpg"));
  EXPECT_THAT(ids_of(dir_ / "out", "val"), ElementsAre("cat/9.jpg"));
  EXPECT_EQ(summary.num_records(), 3);
  const std::string file = (dir_ / "ids.txt").string();
  EXPECT_THAT(notes_,
              ElementsAre(file + ": begins with a byte order mark, which is left out",
                          file + ": 1 line ends with \\r\\n; the \\r is not part of the ids",
                          file + ": 1 id appears more than once, and counts once: 'dog/2.jpg'",
                          file + ": the samples with these ids are taken: 2 of 8 of 'train', 1 of "
                                 "2 of 'val'",
                          "warning: " + file + ": 1 of 4 ids belongs to no sample: 'cat/8.jpg'"));
}

TEST_F(Only, LeavesOutSplitsWithoutSuchASample) {
  const auto source = open_image_folder(folder_of_pictures());
  convert(*source, dir_ / "out", options({"dog/2.jpg"}));
  EXPECT_FALSE(fs::exists(dir_ / "out/val"));
  EXPECT_THAT(notes_, ElementsAre("the ids given: the samples with these ids are taken: 1 of 8 of "
                                  "'train'; 'val' has none of these ids, so is left out"));
}

TEST_F(Only, SaysTheChoiceInTheManifestByNumberAndHash) {
  const auto source = open_image_folder(folder_of_pictures());
  convert(*source, dir_ / "a", options({"dog/2.jpg", "cat/1.jpg"}));
  convert(*source, dir_ / "b", options({"cat/1.jpg", "dog/2.jpg", "cat/1.jpg"}));
  convert(*source, dir_ / "c", options({"cat/1.jpg", "dog/3.jpg"}));
  const auto only = [&](const char* name) {
    return Dataset::open(dir_ / name, "train").manifest().options.at("only");
  };
  EXPECT_THAT(only("a"), ::testing::MatchesRegex("2 ids, [0-9a-f]{16}"));
  EXPECT_EQ(only("a"), only("b"));
  EXPECT_NE(only("a"), only("c"));
  EXPECT_EQ(files_of(dir_ / "a"), files_of(dir_ / "b"));
}

// The ids of the fake source are known by reading alone.
TEST_F(Only, ReadsSamplesWhoseIdsNoListTells) {
  const FakeSource source(1000, {7, 500});
  ConvertOptions options = this->options({"sample-3", "sample-500", "sample-999"});
  convert(source, dir_ / "out", options);
  EXPECT_THAT(ids_of(dir_ / "out"), ElementsAre("sample-3", "sample-999"));
  EXPECT_THAT(
      notes_,
      ElementsAre("split 'train': 1000 of 1000 samples are first read once to get their ids",
                  "warning: split 'train': 2 of 1000 samples cannot be read, so their "
                  "ids are unknown, and they are left out: sample-7: is bad",
                  "the ids given: the samples with these ids are taken: 2 of 1000 of 'train'",
                  "warning: the ids given: 1 of 3 ids belongs to no sample: 'sample-500'"));
}

TEST_F(Only, TakesNumbersAndTellsOfIdsOfSeveralSamples) {
  write_file(dir_ / "a.jsonl",
             "{\"id\": 17, \"x\": 1}\n{\"id\": -2, \"x\": 2}\n{\"id\": 17, \"x\": 3}\n"
             "{\"id\": 4, \"x\": 4}\n");
  const auto source = open_jsonl(dir_ / "a.jsonl");
  convert(*source, dir_ / "out", options({"17", "-2"}));
  EXPECT_THAT(Dataset::open(dir_ / "out", "train").int_column("x"), ElementsAre(1, 2, 3));
  EXPECT_THAT(notes_, Contains("warning: the ids given: 1 of 2 ids belongs to several samples; all "
                               "2 samples are taken: '17'"));
}

// Every source whose list tells ids must tell those that its records have.
TEST_F(Only, ListsTheIdsThatRecordsHave) {
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(open_image_folder(folder_of_pictures()));
  sources.push_back(make_demo({.num_classes = 2, .num_train = 3, .num_val = 1, .size = 16}, {}));
  write_file(dir_ / "lines.txt", "one\ntwo\n");
  testing::TarBuilder tar;
  write_file(dir_ / "w/train-000000.tar", tar.add("a/1.txt", "x").add("a/2.txt", "y").finish());
  sources.push_back(open_webdataset(dir_ / "w"));
  convert(*sources[0], dir_ / "out", options_without_ids());
  sources.push_back(open_datasets(open_splits(dir_ / "out")));
  sources.push_back(open_transcoded(open_splits(dir_ / "out"), {.store = StoreAs::dct}));
  for (const auto& source : sources) {
    for (size_t split = 0; split < source->splits().size(); ++split) {
      const Schema schema = source->split_schema(split);
      for (int64_t i = 0; i < source->splits()[split].num_samples; ++i) {
        RecordBuilder builder(schema);
        SampleBuffers buffers;
        std::vector<std::byte> record;
        source->read(split, i, builder, buffers);
        builder.encode(record);
        const auto id = source->listed_id(split, i);
        ASSERT_TRUE(id) << source->describe(split, i);
        EXPECT_EQ(*id, RecordView(schema, record).string(schema.require("id")));
      }
    }
  }
}

TEST_F(Only, IsPartOfWhatAConversionIs) {
  FakeSource source(8000);
  std::vector<std::string> ids;
  for (int i = 0; i < 8000; i += 2) ids.push_back("sample-" + std::to_string(i));
  convert(FakeSource(8000), dir_ / "whole", options(ids));
  std::atomic<bool> cancel{false};
  source.on_read = [&](int64_t) {
    if (source.num_reads > 8000 + 3000) cancel = true;
  };
  ConvertOptions stopped = options(ids);
  stopped.cancel = &cancel;
  EXPECT_ERROR_CODE(convert(source, dir_ / "out", stopped), cancelled);
  ASSERT_TRUE(fs::exists(dir_ / "out/train/shard-00000.ffr"));

  ConvertOptions other = options_without_ids();
  other.resume = true;
  EXPECT_ERROR(convert(FakeSource(8000), dir_ / "out", other), invalid_argument,
               .subject = destination);
  ConvertOptions shorter = options({ids.begin(), ids.end() - 1});
  shorter.resume = true;
  EXPECT_ERROR(convert(FakeSource(8000), dir_ / "out", shorter), invalid_argument,
               .subject = destination);
  ConvertOptions same = options({ids.rbegin(), ids.rend()});
  same.resume = true;
  convert(FakeSource(8000), dir_ / "out", same);
  EXPECT_TRUE(files_of(dir_ / "out") == files_of(dir_ / "whole"));
  // Finished, and the same once more; another choice is another data set.
  EXPECT_TRUE(convert(FakeSource(8000), dir_ / "out", same).was_finished);
  EXPECT_ERROR_CODE(convert(FakeSource(8000), dir_ / "out", shorter), invalid_argument);
}

TEST_F(Only, PartsOfOneChoiceAreJoinedAndOfTwoAreNot) {
  std::vector<std::string> ids;
  for (int i = 0; i < 8000; i += 2) ids.push_back("sample-" + std::to_string(i));
  convert(FakeSource(8000), dir_ / "whole", options(ids));
  for (int64_t i = 1; i <= 2; ++i) {
    ConvertOptions part = options(ids);
    part.part = {.index = i, .count = 2};
    convert(FakeSource(8000), dir_ / ("part-" + std::to_string(i)), part);
  }
  merge_datasets(dir_ / "joined", {dir_ / "part-1", dir_ / "part-2"}, {});
  EXPECT_EQ(Dataset::open(dir_ / "joined", "train").fingerprint(),
            Dataset::open(dir_ / "whole", "train").fingerprint());
  EXPECT_EQ(Dataset::open(dir_ / "joined", "train").manifest().options,
            Dataset::open(dir_ / "whole", "train").manifest().options);
  ids.pop_back();
  ConvertOptions other = options(ids);
  other.part = {.index = 2, .count = 2};
  convert(FakeSource(8000), dir_ / "other", other);
  EXPECT_ERROR(merge_datasets(dir_ / "mixed", {dir_ / "part-1", dir_ / "other"}, {}),
               invalid_argument);
}

TEST_F(Only, AnAppendedSetIsNoLongerOfTheChoice) {
  const FakeSource source(100);
  convert(source, dir_ / "a", options({"sample-1"}));
  convert(source, dir_ / "same", options({"sample-1"}));
  convert(source, dir_ / "b", options({"sample-2"}));
  // The same samples would be there twice.
  EXPECT_ERROR_CODE(append_datasets(dir_ / "a", {dir_ / "same"}, {}), invalid_argument);
  append_datasets(dir_ / "a", {dir_ / "b"}, {});
  EXPECT_THAT(ids_of(dir_ / "a"), ElementsAre("sample-1", "sample-2"));
  EXPECT_FALSE(Dataset::open(dir_ / "a", "train").manifest().options.contains("only"));
}

TEST_F(Only, ATranscodedChoiceHasShardsOfItsOwn) {
  const auto source = open_image_folder(folder_of_pictures());
  convert(*source, dir_ / "all", options({"cat/1.jpg", "dog/2.jpg", "dog/3.jpg"}));
  const auto transcoded = open_transcoded(open_splits(dir_ / "all"), {.store = StoreAs::dct});
  convert(*transcoded, dir_ / "out", options({"dog/2.jpg"}));
  EXPECT_THAT(ids_of(dir_ / "out"), ElementsAre("dog/2.jpg"));
  EXPECT_THAT(Dataset::open(dir_ / "out", "train").manifest().options.at("only"),
              ::testing::MatchesRegex("3 ids, [0-9a-f]{16}, and of these 1 id, [0-9a-f]{16}"));
}

TEST_F(Only, EstimatesTheChoice) {
  const auto source = open_image_folder(folder_of_pictures());
  const ConvertEstimate estimate = estimate_conversion(*source, options({"dog/2.jpg"}));
  ASSERT_EQ(estimate.splits.size(), 1U);
  EXPECT_EQ(estimate.splits[0].num_samples, 1);
}

TEST_F(Only, RefusesIdsOfNoSample) {
  const auto source = open_image_folder(folder_of_pictures());
  EXPECT_ERROR(convert(*source, dir_ / "out", options({"17", "4"})), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(convert(*source, dir_ / "out", options({"a", "b", "c", "d\n"})), invalid_argument,
               .subject = argument);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
}

TEST_F(Only, RefusesSourcesWithoutIds) {
  write_file(dir_ / "a.jsonl", "{\"x\": 1}\n");
  EXPECT_ERROR(convert(*open_jsonl(dir_ / "a.jsonl"), dir_ / "out", options({"1"})),
               invalid_argument, .subject = argument);
  // Of nuScenes' records some refer to others.
  KindConversion nuscenes(source_kind("nuscenes"));
  nuscenes.options().only_ids = Texts{"1"};
  EXPECT_ERROR(nuscenes.check(), invalid_argument, .subject = argument);
}

TEST_F(Only, RefusesFilesThatAreNoListsOfIds) {
  const fs::path file = dir_ / "ids.txt";
  ConvertOptions options = options_in("a\n\xFF\n");
  EXPECT_ERROR(check_destination(dir_ / "out", options), invalid_argument);
  write_file(file, "\n\r\n");
  EXPECT_ERROR(check_destination(dir_ / "out", options), invalid_argument, .subject = argument);
  fs::remove(file);
  EXPECT_ERROR(check_destination(dir_ / "out", options), not_found);
  options.only_ids = Texts{"a"};
  EXPECT_ERROR(convert(FakeSource(1), dir_ / "out", options), invalid_argument,
               .subject = argument);
}

}  // namespace
}  // namespace ffkit
