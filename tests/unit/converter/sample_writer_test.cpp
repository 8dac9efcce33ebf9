#include <ffkit/converter/sample_writer.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

Schema numbered_schema() {
  return {{{.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
           {.name = "content"}}};
}

// Sample i: label i and (i * 37) % 5000 bytes, so that neighbours take different times.
SampleWriter::SetFields numbered(int64_t i) {
  const auto content =
      std::make_shared<std::string>(static_cast<size_t>((i * 37) % 5000), static_cast<char>(i));
  return [i, content](RecordBuilder& record, SampleBuffers&) {
    record.set_scalar<int64_t>(0, i);
    record.set_bytes(1, std::as_bytes(std::span(*content)));
  };
}

void write_numbered(const fs::path& folder, int num_threads, int64_t bytes_of_sample = 5000) {
  SampleWriter writer(folder, "train", numbered_schema(),
                      {.num_threads = num_threads,
                       .shard_bytes = 1 << 20,
                       .zstd_level = 1,
                       .max_bytes_in_flight = 1 << 20,
                       .classes = {"a", "b"}});
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(writer.write(numbered(i), bytes_of_sample), i);
  const SplitSummary summary = writer.finish();
  EXPECT_EQ(summary.num_records, 1000);
}

TEST(SampleWriter, WritesSamplesInTheirOrder) {
  const TempDir dir;
  write_numbered(dir / "out", 3);
  const Dataset split = Dataset::open(dir / "out", "train");
  EXPECT_GT(split.num_records(), 0);
  const std::vector<int64_t> labels = split.int_column("label");
  ASSERT_EQ(labels.size(), 1000U);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(labels[static_cast<size_t>(i)], i);
  EXPECT_EQ(split.manifest().classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(fs::exists(dir / "out/train" / kUnfinishedMarker));
}

TEST(SampleWriter, GivesTheSameBytesForAnyNumberOfThreadsAndBytesInFlight) {
  const TempDir dir;
  write_numbered(dir / "one", 1);
  write_numbered(dir / "four", 4);
  write_numbered(dir / "tight", 4, 2 << 20);  // one at a time
  EXPECT_EQ(files_of(dir / "one"), files_of(dir / "four"));
  EXPECT_EQ(files_of(dir / "one"), files_of(dir / "tight"));
}

TEST(SampleWriter, LeavesNothingWithoutFinish) {
  const TempDir dir;
  {
    SampleWriter writer(dir / "out", "train", numbered_schema(), {.shard_bytes = 1 << 20});
    for (int64_t i = 0; i < 1000; ++i) writer.write(numbered(i), 5000);
    EXPECT_ERROR(Dataset::open(dir / "out", "train"), invalid_argument);
  }
  EXPECT_FALSE(fs::exists(dir / "out"));
}

TEST(SampleWriter, KeepsOtherSplits) {
  const TempDir dir;
  write_numbered(dir / "out", 2);
  const auto train = files_of(dir / "out");
  {
    SampleWriter writer(dir / "out", "val", numbered_schema());
    writer.write(numbered(1), 10);
    EXPECT_EQ(Dataset::open(dir / "out", "train").num_records(), 1000);
  }
  EXPECT_EQ(files_of(dir / "out"), train);
  EXPECT_ERROR(SampleWriter(dir / "out", "train", numbered_schema()), invalid_argument);
  EXPECT_EQ(files_of(dir / "out"), train);
}

TEST(SampleWriter, RefusesASplitThatAnotherOneWrites) {
  const TempDir dir;
  SampleWriter writer(dir / "out", "train", numbered_schema());
  EXPECT_ERROR(SampleWriter(dir / "out", "train", numbered_schema()), invalid_argument);
  writer.write(numbered(1), 10);
  EXPECT_EQ(writer.finish().num_records, 1);
}

TEST(SampleWriter, RemovesWhatAKilledOneLeft) {
  const TempDir dir;
  const pid_t child = fork();
  if (child == 0) {
    auto* writer = new SampleWriter(dir / "out", "train", numbered_schema(),
                                    {.num_threads = 1, .shard_bytes = 1 << 20});
    while (!fs::exists(dir / "out/train/shard-00000.ffr")) writer->write(numbered(99), 5000);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(fs::exists(dir / "out/train/shard-00000.ffr"));
  EXPECT_ERROR(Dataset::open(dir / "out", "train"), invalid_argument);
  std::string note;
  {
    SampleWriter writer(dir / "out", "train", numbered_schema(),
                        {.note = [&note](const std::string& sentence) { note = sentence; }});
    writer.write(numbered(7), 10);
    writer.finish();
  }
  EXPECT_NE(note.find("an unfinished split was found and removed"), std::string::npos) << note;
  EXPECT_EQ(Dataset::open(dir / "out", "train").int_column("label"), std::vector<int64_t>{7});
}

TEST(SampleWriter, ThrowsTheFirstFailureInOrder) {
  for (int round = 0; round < 5; ++round) {
    const TempDir dir;
    SampleWriter writer(dir / "out", "train", numbered_schema(), {.num_threads = 4});
    const auto failing = [](int64_t number) {
      return [number](RecordBuilder&, SampleBuffers&) {
        throw Error(ErrorCode::corrupt, "bad " + std::to_string(number));
      };
    };
    const auto write_all = [&] {
      for (int64_t i = 0; i < 200; ++i) {
        if (i == 61 || i == 62 || i == 90) {
          writer.write(failing(i), 1);
        } else {
          writer.write(numbered(i), 5000);
        }
      }
      writer.finish();
    };
    EXPECT_ERROR(write_all(), corrupt, .record = 61, .subject = sample);
    EXPECT_ERROR(writer.finish(), corrupt, .record = 61, .subject = sample);
  }
}

TEST(SampleWriter, PassesOtherExceptionsOn) {
  const TempDir dir;
  SampleWriter writer(dir / "out", "train", numbered_schema());
  writer.write([](RecordBuilder&, SampleBuffers&) { throw std::domain_error("mine"); }, 1);
  EXPECT_THROW(writer.finish(), std::domain_error);
}

// A sample that is encoded when `release` is set.
SampleWriter::SetFields held_back(const std::shared_future<void>& release) {
  return [release](RecordBuilder& record, SampleBuffers& buffers) {
    release.wait();
    numbered(0)(record, buffers);
  };
}

TEST(SampleWriter, PollEndsTheWaitOfFinish) {
  const TempDir dir;
  std::promise<void> release;
  {
    SampleWriter writer(dir / "out", "train", numbered_schema(), {.num_threads = 1, .poll = [&] {
                                                                    release.set_value();
                                                                    throw std::domain_error("stop");
                                                                  }});
    writer.write(held_back(release.get_future().share()), 1);
    EXPECT_THROW(writer.finish(), std::domain_error);
  }
  EXPECT_FALSE(fs::exists(dir / "out"));
}

TEST(SampleWriter, PollEndsTheWaitOfWriteBeforeItsSampleIsTaken) {
  const TempDir dir;
  std::promise<void> release;
  SampleWriter writer(dir / "out", "train", numbered_schema(),
                      {.num_threads = 1, .max_bytes_in_flight = 1 << 20, .poll = [&] {
                         release.set_value();
                         throw std::domain_error("stop");
                       }});
  writer.write(held_back(release.get_future().share()), 1 << 20);
  EXPECT_THROW(writer.write(numbered(5), 1), std::domain_error);
  EXPECT_EQ(writer.write(numbered(6), 1), 1);
  writer.finish();
  const Dataset split = Dataset::open(dir / "out", "train");
  EXPECT_EQ(split.int_column("label"), (std::vector<int64_t>{0, 6}));
}

TEST(SampleWriter, RefusesWhatCannotBe) {
  const TempDir dir;
  const fs::path out = dir / "out";
  EXPECT_ERROR(SampleWriter(out, "../x", numbered_schema()), invalid_argument);
  EXPECT_ERROR(SampleWriter(out, "train", Schema{{{.name = ""}}}), invalid_argument);
  EXPECT_ERROR(SampleWriter(out, "train", numbered_schema(), {.shard_bytes = 5}), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(SampleWriter(out, "train", numbered_schema(), {.class_names = {"a"}}),
               invalid_argument);
  EXPECT_FALSE(fs::exists(out));
  SampleWriter writer(out, "train", numbered_schema(), {.max_record_bytes = 100});
  writer.write(numbered(20), 740);
  EXPECT_ERROR(writer.finish(), unsupported, .record = 0);
  SampleWriter empty(out, "val", numbered_schema());
  EXPECT_ERROR(empty.finish(), invalid_argument);
}

TEST(SampleWriter, IsNotForForkedProcesses) {
  FFKIT_SKIP_FORK_BESIDE_THREADS();
  const TempDir dir;
  auto writer = std::make_unique<SampleWriter>(dir / "out", "train", numbered_schema());
  writer->write(numbered(1), 10);
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      writer->write(numbered(2), 10);
    } catch (const Error&) {
      status = 0;
    }
    writer.reset();  // must neither wait for threads nor remove anything
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(writer->finish().num_records, 1);
}

}  // namespace
}  // namespace ffkit
