// What ffkit 0.2.0 left of work that was killed (tests/golden/leftovers/README.md) is gone on with,
// or refused by a sentence that says what clears it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/version.h>
#include <ffkit/converter/convert.h>
#include <ffkit/converter/leftovers.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/shard_sink.h>
#include <ffkit/format/dataset.h>
#include <ffkit/sources/registry.h>

#include "converter/output/store_claim.h"
#include "temp_dir.h"
#include "whole_files.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using testing::files_of;
using ::testing::HasSubstr;
using testing::read_file;
using testing::TempDir;
using testing::write_file;

// Of another release, a conversion is refused: "what differs is the program".
void replace_in_files(const fs::path& folder, std::string_view then, std::string_view now) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name != kUnfinishedMarker && name != "manifest.json") continue;
    std::string text = read_file(entry.path());
    if (const size_t at = text.find(then); at != std::string::npos) {
      write_file(entry.path(), text.replace(at, then.size(), now));
    }
  }
}

template <typename Action>
std::string sentence_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class OldLeftovers : public ::testing::Test {
 protected:
  void SetUp() override {
    StoreClaim::pace() = {.beat = std::chrono::milliseconds(50),
                          .patience = std::chrono::milliseconds(400)};
    for (int file = 0; file < 4; ++file) {
      std::string lines;
      for (int line = 0; line < 12; ++line) {
        std::string text;
        for (int i = 0; i < 4000; ++i) text += fmt::format("sample {} of file {}. ", line, file);
        lines += fmt::format(R"({{"id": "{}-{}", "number": {}, "text": "{}"}})", file, line,
                             100 * file + line, text) +
                 "\n";
      }
      write_file(dir_ / "source" / fmt::format("{}.jsonl", file), lines);
    }
  }
  void TearDown() override { StoreClaim::pace() = {}; }

  void unpack(const std::string& name) const {
    const std::string command = fmt::format("tar -xJf {}/leftovers/{}.tar.xz -C {}",
                                            FFKIT_GOLDEN_FOLDER, name, dir_.path().string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    replace_in_files(dir_.path(), "ffconvert 0.2.0", "ffconvert " FFKIT_VERSION);
  }

  struct Wanted {
    std::string part = {};
    std::optional<int64_t> by_files = {};
    uint64_t seed = 0;
    bool resume = false;
    bool merge_when_complete = false;
  };
  ConvertSummary make(const std::string& name, const Wanted& wanted) {
    KindConversion conversion(source_kind("jsonl"));
    if (!wanted.part.empty()) conversion.table().find("part")->give(wanted.part);
    conversion.options().shard_bytes = 1 << 20;
    conversion.options().by_files = wanted.by_files;
    conversion.options().seed = wanted.seed;
    conversion.options().resume = wanted.resume;
    conversion.options().merge_when_complete = wanted.merge_when_complete;
    conversion.options().note = [this](const std::string& note) { notes_.push_back(note); };
    conversion.check();
    const fs::path destination = dir_ / name;
    const std::unique_ptr<Source> source =
        conversion.open(dir_ / "source", destination, /*is_dry_run=*/false);
    return convert(*source, destination, conversion.options());
  }

  // Manifests of then have the times of the source of then.
  void expect_whole(const std::string& name, const Wanted& wanted) {
    make("whole", wanted);
    EXPECT_EQ(Dataset::open(dir_ / name, "train").manifest().fingerprint(),
              Dataset::open(dir_ / "whole", "train").manifest().fingerprint());
    auto files = files_of(dir_ / name);
    auto wanted_files = files_of(dir_ / "whole");
    for (auto* of : {&files, &wanted_files}) EXPECT_EQ(of->erase("train/manifest.json"), 1U);
    EXPECT_TRUE(files == wanted_files);  // their bytes are no message
  }

  TempDir dir_;
  std::vector<std::string> notes_;
};

TEST_F(OldLeftovers, APartIsGoneOnWith) {
  unpack("part");
  EXPECT_THAT(sentence_of([&] { Dataset::open(dir_ / "part", "train"); }),
              HasSubstr("jsonl source part_1 --part 1/2 --shard-size 1M --quiet --resume"));
  EXPECT_THAT(
      sentence_of([&] { make("part", {.part = "1/2", .seed = 7, .resume = true}); }),
      AllOf(HasSubstr("and this conversion differs in option seed (was '0', now '7'), "),
            HasSubstr(
                "; give the source and the options of the unfinished conversion, or run without "
                "resume = true to start over")));
  make("part", {.part = "1/2", .resume = true});
  EXPECT_THAT(notes_, Contains(HasSubstr("train: 1 of 2 shards are finished; continuing")));
  make("other", {.part = "2/2"});
  merge_datasets(dir_ / "merged", {dir_ / "part", dir_ / "other"}, {});
  expect_whole("merged", {});
}

TEST_F(OldLeftovers, APartIsRemovedByANewStart) {
  unpack("part");
  make("part", {});
  EXPECT_THAT(notes_, Contains(HasSubstr("an unfinished conversion was found and removed")));
  expect_whole("part", {});
}

TEST_F(OldLeftovers, GroupsAreGoneOnWith) {
  unpack("groups");
  EXPECT_THAT(sentence_of([&] { Dataset::open(dir_ / "groups", "train"); }),
              HasSubstr("jsonl source groups --by-files 2 --shard-size 1M --quiet --resume"));
  make("groups", {.by_files = 2, .resume = true});
  EXPECT_THAT(notes_,
              Contains(HasSubstr("train: 1 of 2 groups of files are finished; continuing")));
  expect_whole("groups", {.by_files = 2});
}

// One of its groups has a description that was cut: it is opened again.
TEST_F(OldLeftovers, AGroupWithoutADescriptionIsMadeAgain) {
  unpack("groups");
  fs::resize_file(dir_ / "groups/train/shard-00000.group.tmp", 100);
  make("groups", {.by_files = 2, .resume = true});
  expect_whole("groups", {.by_files = 2});
}

TEST_F(OldLeftovers, PartsOfOnePlaceAreGoneOnWithAndMerged) {
  unpack("shared");
  // Marker and manifests have a hash of the plan, and the release is in the plan.
  fs::copy(dir_ / "shared", dir_ / "refused", fs::copy_options::recursive);
  EXPECT_THAT(sentence_of([&] { make("refused", {.part = "2/2", .merge_when_complete = true}); }),
              HasSubstr("the number of parts or the version of ffkit differs"));
  make("now", {.part = "1/2", .merge_when_complete = true});
  const std::string now = read_file(dir_ / "now" / kUnfinishedMarker);
  replace_in_files(dir_ / "shared", "ee2e55ec6d225969",
                   now.substr(now.find("\nplan ") + std::strlen("\nplan "), 16));
  EXPECT_THAT(sentence_of([&] { merge_datasets(dir_ / "shared", {}, {}); }),
              HasSubstr("this part of the conversion has not finished; wait until the part is "
                        "finished, or finish it with: "));
  const ConvertSummary summary =
      make("shared", {.part = "2/2", .resume = true, .merge_when_complete = true});
  EXPECT_EQ(summary.merged.size(), 1U);
  EXPECT_THAT(notes_, Contains(HasSubstr("train: 1 of 2 shards are finished; continuing")));
  expect_whole("shared", {});
}

TEST_F(OldLeftovers, AMergeStartsOver) {
  unpack("merge");
  EXPECT_THAT(sentence_of([&] { make("merged", {.resume = true}); }),
              HasSubstr("contains an unfinished result of 'ffconvert merge', not of this "
                        "conversion; run the command without"));
  merge_datasets(dir_ / "merged", {dir_ / "part_1", dir_ / "part_2"},
                 {.note = [this](const std::string& note) { notes_.push_back(note); }});
  EXPECT_THAT(notes_, Contains(HasSubstr("an unfinished merge was found and removed")));
  expect_whole("merged", {});
}

class OldSink : public OldLeftovers {
 protected:
  void SetUp() override {
    OldLeftovers::SetUp();
    unpack("sink");
    job_ = line_of("sink.job");
  }
  std::string line_of(const std::string& name) const {
    const std::string text = read_file(dir_ / name);
    return text.substr(0, text.find('\n'));
  }
  std::string run_second_task() const {
    const Dataset first = Dataset::open_files(
        {dir_ / "sink/train" / fmt::format("shard-000000-00000-{}.ffr", attempt_)});
    ShardTask task(dir_ / "sink", "train", job_, 1, first.schema(), options_);
    for (int i = 0; i < 3; ++i) {
      task.write(
          [i](RecordBuilder& record, SampleBuffers& buffers) {
            record.set_scalar<int64_t>(0, 30 + i);
            const std::span<std::byte> content = buffers.bytes(1000);
            std::ranges::fill(content, std::byte{66});
            record.set_bytes(1, content);
          },
          1000);
    }
    return task.finish();
  }

  std::string job_;
  const std::string attempt_ = "5df539a18e35f2c7";
  const SampleWriterOptions options_{.num_threads = 1, .shard_bytes = 1 << 20};
};

TEST_F(OldSink, IsTakenUp) {
  ShardSink sink = ShardSink::take_up(dir_ / "sink", "train", job_, options_);
  const SplitSummary summary = sink.commit({line_of("sink.description"), run_second_task()}, 2);
  EXPECT_EQ(summary.num_records, 33);
  std::vector<int64_t> numbers(33);
  for (int64_t i = 0; i < 33; ++i) numbers[static_cast<size_t>(i)] = i;
  EXPECT_EQ(Dataset::open(dir_ / "sink", "train").int_column("number"), numbers);
  EXPECT_EQ(files_of(dir_ / "sink").size(), 4U) << "of the attempt that was killed nothing is left";
}

TEST_F(OldSink, IsRemovedByAnotherJob) {
  EXPECT_THAT(sentence_of([&] { ShardSink::take_up(dir_ / "sink", "train", "another", options_); }),
              HasSubstr("the job another no longer writes this split, because the job has ended or "
                        "another job has started to write the split"));
  SampleWriterOptions options = options_;
  options.note = [this](const std::string& note) { notes_.push_back(note); };
  ShardSink sink = ShardSink::begin(dir_ / "sink", "train", options);
  EXPECT_THAT(notes_, Contains(HasSubstr("an unfinished split was found and removed")));
  EXPECT_EQ(files_of(dir_ / "sink").size(), 1U);
}

TEST_F(OldLeftovers, AllAreRemovedByGc) {
  for (const char* name : {"part", "groups", "shared", "merge", "sink"}) unpack(name);
  for (const char* name : {"part", "groups", "shared", "merged", "sink"}) {
    EXPECT_EQ(remove_leftovers(dir_ / name, /*unfinished=*/false, {}).num_removed, 0) << name;
    EXPECT_GT(remove_leftovers(dir_ / name, /*unfinished=*/true, {}).num_removed, 0) << name;
    EXPECT_TRUE(files_of(dir_ / name).empty()) << name;
  }
}

}  // namespace
}  // namespace ffkit
