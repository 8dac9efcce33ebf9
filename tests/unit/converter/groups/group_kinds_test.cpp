// Each kind whose files stand alone, by groups: the records of an ordinary conversion.
#include <ffkit/sources/registry.h>

#include "../sources/rows/mds_builder.h"
#include "../sources/rows/tf_example_builder.h"
#include "converter_prelude.h"

namespace ffkit {
namespace {

using testing::MdsBuilder;
using testing::tf_bytes;
using testing::tf_example;
using testing::tf_floats;
using testing::tf_integers;
using testing::tf_record;

constexpr int kFiles = 7;

// File number 3 is empty where `can_be_empty`.
int rows_of(int file, bool can_be_empty = true) {
  return can_be_empty && file == 3 ? 0 : 2 + 3 * file;
}

void write_jsonl(const fs::path& folder) {
  for (int file = 0; file < kFiles; ++file) {
    std::string lines;
    for (int row = 0; row < rows_of(file); ++row) {
      lines += fmt::format(R"({{"id": "{}-{}", "n": {}, "x": {}.5, "tags": ["a", "{}"]}})", file,
                           row, row, row, file) +
               "\n";
    }
    write_file(folder / fmt::format("train-{:05}.jsonl", file), lines);
    write_file(folder / fmt::format("val-{:05}.jsonl", file), lines);
  }
}

void write_tfrecord(const fs::path& folder) {
  for (int file = 0; file < kFiles; ++file) {
    std::string records;
    for (int row = 0; row < rows_of(file); ++row) {
      records += tf_record(tf_example(tf_integers("label", {row}) + tf_floats("x", {1.5F, 2.0F}) +
                                      tf_bytes("text", {fmt::format("{} of {}", row, file)})));
    }
    write_file(folder / fmt::format("train-{:05}-of-00007.tfrecord", file), records);
  }
}

void write_webdataset(const fs::path& folder) {
  for (int file = 0; file < kFiles; ++file) {
    TarBuilder tar;
    for (int row = 0; row < rows_of(file); ++row) {
      tar.add(fmt::format("{}-{}.txt", file, row), fmt::format("text {}", row));
      tar.add(fmt::format("{}-{}.cls", file, row), std::to_string(row));
    }
    write_file(folder / fmt::format("train-{:05}.tar", file), tar.finish());
  }
}

void write_mds(const fs::path& folder) {
  MdsBuilder builder;
  builder.add_column("text", "str").add_column("label", "int64", 8);
  std::vector<std::string> entries;
  for (int file = 0; file < kFiles; ++file) {
    std::vector<std::string> rows;
    for (int row = 0; row < rows_of(file, false); ++row) {
      rows.push_back(builder.row(
          {fmt::format("{} of {}", row, file), testing::little_bytes(static_cast<int64_t>(row))}));
    }
    const std::string name = fmt::format("shard.{:05}.mds", file);
    const std::string bytes = MdsBuilder::shard(rows);
    write_file(folder / name, bytes);
    entries.push_back(builder.entry(name, std::ssize(bytes), std::ssize(rows)));
  }
  write_file(folder / "index.json", MdsBuilder::index(entries));
}

void write_texts(const fs::path& folder) {
  for (int file = 0; file < kFiles; ++file) {
    std::string lines;
    for (int row = 0; row < rows_of(file); ++row) {
      lines += fmt::format(R"({{"text": "line {} of {}"}})", row, file) + "\n";
    }
    write_file(folder / fmt::format("train-{:05}.jsonl", file), lines);
  }
}

struct KindCase {
  const char* name;
  void (*write)(const fs::path&);
};

class GroupKindsTest : public ::testing::TestWithParam<KindCase> {
 protected:
  void SetUp() override {
    fs::create_directories(source_);
    GetParam().write(source_);
  }

  // As `ffconvert <kind>` does.
  ConvertSummary make(const std::string& name, std::optional<int64_t> by_files, Order order,
                      const ConvertPart& part = {}) {
    KindConversion conversion(source_kind(GetParam().name));
    if (std::string(GetParam().name) == "text") {
      conversion.table().find("tokenizer")->give(std::string("bytes"));
    }
    ConvertOptions& options = conversion.options();
    options.num_threads = 2;
    options.order = order;
    options.by_files = by_files;
    options.part = part;
    options.seed = 5;
    options.note = [this](const std::string& sentence) { notes_.push_back(sentence); };
    conversion.check();
    const auto source = conversion.open(source_, dir_ / name, false);
    return convert(*source, dir_ / name, options);
  }

  std::vector<std::string> records(const std::string& name, const std::string& split) const {
    const Dataset set = Dataset::open(dir_ / name, split);
    std::vector<std::string> records;
    std::vector<std::byte> bytes;
    for (int64_t record = 0; record < set.num_records(); ++record) {
      set.read(record, bytes);
      records.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return records;
  }

  TempDir dir_;
  const fs::path source_ = dir_ / "source";
  std::vector<std::string> notes_;
};

TEST_P(GroupKindsTest, GivesTheRecordsOfAnOrdinaryConversion) {
  make("all", std::nullopt, Order::sequential);
  for (const int64_t by_files : {1, 2, 0}) {
    const std::string name = fmt::format("by-{}", by_files);
    make(name, by_files, Order::sequential);
    for (const std::string& split : list_splits(dir_ / "all")) {
      EXPECT_TRUE(records(name, split) == records("all", split)) << split << " by " << by_files;
      const Manifest a = Dataset::open(dir_ / "all", split).manifest();
      const Manifest b = Dataset::open(dir_ / name, split).manifest();
      EXPECT_EQ(a.schema, b.schema);
      for (const char* fact : {"kind", "path", "files", "shards", "samples"}) {
        EXPECT_EQ(a.source.contains(fact), b.source.contains(fact)) << fact;
        if (a.source.contains(fact)) {
          EXPECT_EQ(a.source.at(fact), b.source.at(fact));
        }
      }
    }
    EXPECT_EQ(list_splits(dir_ / name), list_splits(dir_ / "all"));
  }
}

TEST_P(GroupKindsTest, PartsMakeTheWhole) {
  make("whole", 2, Order::shuffle);
  make("part-1", 2, Order::shuffle, {.index = 1, .count = 2});
  make("part-2", 2, Order::shuffle, {.index = 2, .count = 2});
  merge_datasets(dir_ / "merged", {dir_ / "part-1", dir_ / "part-2"}, {});
  EXPECT_TRUE(files_of(dir_ / "merged") == files_of(dir_ / "whole"));
  std::vector<std::string> mine = records("whole", "train");
  make("all", std::nullopt, Order::sequential);
  std::vector<std::string> all = records("all", "train");
  EXPECT_NE(mine, all);
  std::ranges::sort(mine);
  std::ranges::sort(all);
  EXPECT_EQ(mine, all);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GroupKindsTest,
                         ::testing::Values(KindCase{"jsonl", write_jsonl},
                                           KindCase{"tfrecord", write_tfrecord},
                                           KindCase{"webdataset", write_webdataset},
                                           KindCase{"mds", write_mds},
                                           KindCase{"text", write_texts}),
                         [](const auto& test) { return std::string(test.param.name); });

class GroupFieldsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Source> open(const std::string& kind, BadSamples bad_samples = BadSamples::fail) {
    conversion_.emplace(source_kind(kind));
    conversion_->options().by_files = 1;
    conversion_->options().order = Order::sequential;
    conversion_->options().bad_samples = bad_samples;
    conversion_->options().note = [this](const std::string& note) { notes_.push_back(note); };
    conversion_->check();
    return conversion_->open(dir_ / "source", dir_ / "set", false);
  }
  ConvertSummary make(const std::string& kind, BadSamples bad_samples = BadSamples::fail) {
    const auto source = open(kind, bad_samples);
    return convert(*source, dir_ / "set", conversion_->options());
  }

  TempDir dir_;
  std::optional<KindConversion> conversion_;
  std::vector<std::string> notes_;
};

TEST_F(GroupFieldsTest, AValueOfAnotherTypeThanInTheFirstFilesIsABadSample) {
  write_file(dir_ / "source/a.jsonl", "{\"n\": 1}\n");
  write_file(dir_ / "source/b.jsonl", "{\"n\": 2}\n{\"n\": 2.5}\n{\"n\": 3}\n");
  EXPECT_ERROR(make("jsonl"), invalid_argument);
  const ConvertSummary summary = make("jsonl", BadSamples::skip);
  EXPECT_EQ(summary.num_records(), 3);
  EXPECT_EQ(summary.num_skipped(), 1);
}

TEST_F(GroupFieldsTest, ATypeOfTheFirstFilesHoldsForTheOthers) {
  write_file(dir_ / "source/a.jsonl", "{\"x\": 1.5, \"tags\": [\"p\"]}\n");
  write_file(dir_ / "source/b.jsonl", "{\"x\": 2, \"tags\": []}\n{\"x\": null, \"tags\": null}\n");
  EXPECT_EQ(make("jsonl").num_records(), 3);
}

TEST_F(GroupFieldsTest, SeveralValuesWhereTheFirstFilesHaveOneAreABadSample) {
  write_file(dir_ / "source/train-0.tfrecord", tf_record(tf_example(tf_integers("n", {1}))));
  write_file(dir_ / "source/train-1.tfrecord", tf_record(tf_example(tf_integers("n", {1, 2}))));
  EXPECT_ERROR(make("tfrecord"), invalid_argument);
}

TEST_F(GroupFieldsTest, AFeatureThatTheFirstFilesLackEndsIt) {
  write_file(dir_ / "source/train-0.tfrecord", tf_record(tf_example(tf_integers("n", {1}))));
  write_file(dir_ / "source/train-1.tfrecord",
             tf_record(tf_example(tf_integers("m", {1}) + tf_integers("n", {1}))));
  EXPECT_ERROR(make("tfrecord"), unsupported);
}

TEST_F(GroupFieldsTest, AMemberThatTheFirstTarsLackEndsIt) {
  write_file(dir_ / "source/0.tar", TarBuilder().add("a.txt", "a").finish());
  write_file(dir_ / "source/1.tar", TarBuilder().add("b.txt", "b").add("b.json", "{}").finish());
  EXPECT_ERROR(make("webdataset"), unsupported);
}

TEST_F(GroupFieldsTest, AFileThatIsWrittenToMeanwhileEndsIt) {
  write_file(dir_ / "source/a.jsonl", "{\"n\": 1}\n");
  write_file(dir_ / "source/b.jsonl", "{\"n\": 2}\n");
  const auto source = open("jsonl");
  write_file(dir_ / "source/b.jsonl", "{\"n\": 2}\n{\"n\": 3}\n");
  EXPECT_ERROR(convert(*source, dir_ / "set", conversion_->options()), not_found);
}

TEST_F(GroupFieldsTest, ACutFileIsOneBadSample) {
  const std::string record = tf_record(tf_example(tf_integers("n", {1})));
  write_file(dir_ / "source/train-0.tfrecord", record);
  write_file(dir_ / "source/train-1.tfrecord", record + record.substr(0, record.size() - 3));
  const ConvertSummary summary = make("tfrecord", BadSamples::skip);
  EXPECT_EQ(summary.num_records(), 2);
  EXPECT_EQ(summary.num_skipped(), 1);
}

TEST_F(GroupFieldsTest, FilesOfOtherTimesAreComparedByTheirContents) {
  write_file(dir_ / "source/a.jsonl", "{\"n\": 1}\n");
  write_file(dir_ / "source/b.jsonl", "{\"n\": 2}\n");
  make("jsonl");
  const auto again = [&] {
    const auto source = open("jsonl");
    ConvertOptions options = conversion_->options();
    options.resume = true;
    return convert(*source, dir_ / "set", options);
  };
  EXPECT_TRUE(again().was_finished);
  fs::last_write_time(dir_ / "source/b.jsonl",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(again().was_finished);
  EXPECT_THAT(notes_, Contains(HasSubstr("the contents are compared")));
  write_file(dir_ / "source/b.jsonl", "{\"n\": 3}\n");
  EXPECT_ERROR(again(), invalid_argument);
}

TEST_F(GroupFieldsTest, NotesOfManyGroupsAreSaidOnceAndCounted) {
  for (int file = 0; file < 6; ++file) {
    write_file(dir_ / fmt::format("source/{}.jsonl", file), "\xEF\xBB\xBF{\"n\": 1}\n");
  }
  make("jsonl");
  EXPECT_THAT(notes_,
              Contains(HasSubstr("the same or similar for 6 groups of files: train: 1 file")));
  EXPECT_LE(notes_.size(), 2U);
}

TEST_F(GroupFieldsTest, OtherKindsSayThatTheyHaveNoGroups) {
  write_file(dir_ / "source/a/b.jpg", "x");
  EXPECT_ERROR(open("folder"), invalid_argument);
}

}  // namespace
}  // namespace ffkit
