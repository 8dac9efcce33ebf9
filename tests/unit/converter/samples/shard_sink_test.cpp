// A split that tasks write together: in a folder, and at an address (file:// needs no server).
#include <ffkit/converter/leftovers.h>
#include <ffkit/converter/shard_sink.h>
#include <ffkit/format/manifest.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kSamplesOfTask = 250;
constexpr int kNumTasks = 4;
const std::string kJob = "0123456789abcdef";

Schema sink_schema() {
  return {{{.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
           {.name = "content"}}};
}

SampleWriterOptions sink_options() {
  return {.num_threads = 2, .shard_bytes = 1 << 20, .zstd_level = 1, .classes = {"a", "b"}};
}

class ShardSinkTest : public ::testing::TestWithParam<bool> {
 protected:
  bool is_in_store() const { return GetParam(); }
  fs::path place(const std::string& name = "set") const {
    return is_in_store() ? fs::path("file://" + (dir_ / name).string()) : dir_ / name;
  }
  ShardSink begin(const std::string& job = kJob) const {
    return ShardSink::begin(place(), "train", sink_options(), job);
  }

  // Without finish(): an attempt that is killed.
  std::unique_ptr<ShardTask> attempt(int64_t task, int64_t num_samples = kSamplesOfTask,
                                     const std::string& job = kJob) const {
    auto writer =
        std::make_unique<ShardTask>(place(), "train", job, task, sink_schema(), sink_options());
    for (int64_t i = 0; i < num_samples; ++i) {
      const int64_t label = task * kSamplesOfTask + i;
      // What zstd makes no smaller, so that there are several shards.
      auto content = std::make_shared<std::string>(9000, '\0');
      uint64_t state = static_cast<uint64_t>(label) + 1;
      for (char& c : *content) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        c = static_cast<char>(state >> 56U);
      }
      writer->write(
          [label, content](RecordBuilder& record, SampleBuffers&) {
            record.set_scalar<int64_t>(0, label);
            record.set_bytes(1, std::as_bytes(std::span(*content)));
          },
          9000);
    }
    return writer;
  }
  std::string run_task(int64_t task) const { return attempt(task)->finish(); }
  std::vector<std::string> run_all() const {
    std::vector<std::string> described;
    for (int task = kNumTasks - 1; task >= 0; --task) described.push_back(run_task(task));
    return described;
  }
  std::vector<int64_t> labels() const {
    return Dataset::open(place(), "train").int_column("label");
  }
  void expect_whole(const SplitSummary& summary) const {
    std::vector<int64_t> wanted(kNumTasks * kSamplesOfTask);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(summary.num_records, std::ssize(wanted));
    EXPECT_EQ(labels(), wanted);
    EXPECT_TRUE(find_leftovers(place()).found.empty());
    EXPECT_TRUE(find_leftovers(place()).others.empty());
  }

  TempDir dir_;
};

TEST_P(ShardSinkTest, JoinsTheTasksInTheirOrder) {
  ShardSink sink = begin();
  EXPECT_EQ(sink.job(), kJob);
  const SplitSummary summary = sink.commit(run_all(), kNumTasks);
  EXPECT_GT(summary.num_shards, kNumTasks);
  expect_whole(summary);
  EXPECT_EQ(read_manifest(place() / "train/manifest.json").classes,
            (std::vector<std::string>{"a", "b"}));
}

TEST_P(ShardSinkTest, CountsOneAttemptOfEachTask) {
  std::string fingerprint;
  {
    ShardSink sink = begin();
    fingerprint = sink.commit(run_all(), kNumTasks).fingerprint;
    fs::remove_all(dir_ / "set");
  }
  ShardSink sink = begin();
  std::vector<std::string> described;
  std::vector<std::unique_ptr<ShardTask>> killed;
  for (int task = 0; task < kNumTasks; ++task) {
    killed.push_back(attempt(task, 200));
    described.push_back(run_task(task));
    described.push_back(run_task(task));                   // as a speculative one
    described.push_back(described[described.size() - 2]);  // said twice
  }
  const SplitSummary summary = sink.commit(described, kNumTasks);
  EXPECT_EQ(summary.fingerprint, fingerprint);
  // Those that live on.
  for (auto& task : killed) {
    EXPECT_THROW(task->finish(), Error);
  }
  killed.clear();
  expect_whole(summary);
  // The driver says it again.
  EXPECT_EQ(
      ShardSink::take_up(place(), "train", kJob, sink_options()).commit(described).fingerprint,
      fingerprint);
}

TEST_P(ShardSinkTest, IsUnreadableUntilItIsCommitted) {
  ShardSink sink = begin();
  const auto described = run_all();
  EXPECT_ERROR(Dataset::open(place(), "train"), invalid_argument);
  sink.commit(described);
  EXPECT_EQ(std::ssize(labels()), kNumTasks * kSamplesOfTask);
}

TEST_P(ShardSinkTest, IsTakenUpByAnotherProcess) {
  {
    ShardSink sink = begin();
    sink.leave();
  }
  const auto described = run_all();
  EXPECT_ERROR(ShardSink::take_up(place(), "train", "ffffffffffffffff"), invalid_argument);
  ShardSink sink = ShardSink::take_up(place(), "train", kJob, sink_options());
  expect_whole(sink.commit(described, kNumTasks));
}

TEST_P(ShardSinkTest, RemovesAllWhenItIsAborted) {
  fs::create_directories(dir_ / "set/val");
  testing::write_file(dir_ / "set/val/other.txt", "mine");
  {
    ShardSink sink = begin();
    run_task(0);
    sink.abort();
  }
  {
    const ShardSink sink = begin();
    run_task(1);
  }
  EXPECT_EQ(files_of(dir_ / "set"),
            (std::map<std::string, std::string>{{"val/other.txt", "mine"}}));
}

TEST_P(ShardSinkTest, IsAbortedWhileTasksWrite) {
  for (int round = 0; round < 12; ++round) {
    ShardSink sink = begin();
    std::vector<std::thread> tasks;
    for (int task = 0; task < kNumTasks; ++task) {
      tasks.emplace_back([this, task] {
        try {
          attempt(task, 1)->finish();
        } catch (const Error&) {
          return;  // the job was given up
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(400 * round));
    sink.abort();
    for (std::thread& task : tasks) task.join();
    ASSERT_TRUE(files_of(dir_.path()).empty()) << round;
    if (!is_in_store()) {
      ASSERT_FALSE(fs::exists(dir_ / "set")) << round;
    }
  }
}

TEST_P(ShardSinkTest, GivesWayToTheNextJob) {
  ShardSink first = begin();
  const auto of_first = run_all();
  auto running = attempt(0, 200);
  first.leave();
  ShardSink second = begin("1111111111111111");
  EXPECT_ERROR(ShardSink::take_up(place(), "train", kJob), invalid_argument);
  EXPECT_ERROR(run_task(0), invalid_argument);
  EXPECT_THROW(running->finish(), Error);
  running.reset();
  EXPECT_ERROR(second.commit(of_first), invalid_argument);
  std::vector<std::string> described;
  for (int task = 0; task < kNumTasks; ++task) {
    described.push_back(attempt(task, kSamplesOfTask, "1111111111111111")->finish());
  }
  expect_whole(second.commit(described, kNumTasks));
}

TEST_P(ShardSinkTest, RefusesASplitThatIsThere) {
  ShardSink sink = begin();
  EXPECT_THROW(begin("1111111111111111"), Error);  // while the first one is at it
  sink.commit(run_all());
  EXPECT_ERROR(begin("1111111111111111"), invalid_argument);
}

TEST_P(ShardSinkTest, SaysWhichTaskIsMissing) {
  ShardSink sink = begin();
  auto described = run_all();
  described.erase(described.begin() + 1);
  EXPECT_ERROR(sink.commit(described, kNumTasks), invalid_argument);
  EXPECT_ERROR(sink.commit({described.front()}, 2), invalid_argument);
  EXPECT_ERROR(sink.commit({}), invalid_argument);
  EXPECT_ERROR(sink.commit({"{}"}), invalid_argument);
  EXPECT_ERROR(sink.commit({R"({"ffkit_task": 2})"}), invalid_argument);
  // It may still be given what is right.
  described.push_back(run_task(2));
  expect_whole(sink.commit(described, kNumTasks));
}

TEST_P(ShardSinkTest, TakesTasksWithoutSamples) {
  ShardSink sink = begin();
  const std::vector<std::string> described = {ShardTask::describe_empty(kJob, 0), run_task(1),
                                              attempt(2, 0)->finish()};
  EXPECT_EQ(sink.commit(described, 3).num_records, kSamplesOfTask);
  EXPECT_ERROR(static_cast<void>(ShardTask::describe_empty(kJob, -1)), invalid_argument);
}

TEST_P(ShardSinkTest, RefusesTasksThatDiffer) {
  ShardSink sink = begin();
  const auto other = [&](Schema schema, const SampleWriterOptions& options) {
    ShardTask task(place(), "train", kJob, 1, std::move(schema), options);
    task.write([](RecordBuilder&, SampleBuffers&) {}, 1);
    return task.finish();
  };
  Schema narrow = sink_schema();
  narrow.fields[0].dtype = DType::i32;
  EXPECT_ERROR(sink.commit({run_task(0), other(narrow, sink_options())}), invalid_argument);
  SampleWriterOptions larger = sink_options();
  larger.shard_bytes = 2 << 20;
  EXPECT_ERROR(sink.commit({run_task(0), other(sink_schema(), larger)}), invalid_argument);
}

TEST_P(ShardSinkTest, MissesAShardThatIsGone) {
  ShardSink sink = begin();
  const auto described = run_all();
  const auto files = files_of(dir_ / "set/train");
  const auto shard = std::ranges::find_if(
      files, [](const auto& file) { return file.first.starts_with("shard-000002"); });
  ASSERT_NE(shard, files.end());
  fs::remove(dir_ / "set/train" / shard->first);
  EXPECT_THROW(sink.commit(described), Error);
  testing::write_file(dir_ / "set/train" / shard->first, "short");
  EXPECT_THROW(sink.commit(described), Error);
  testing::write_file(dir_ / "set/train" / shard->first, shard->second);
  expect_whole(sink.commit(described));
}

TEST_P(ShardSinkTest, ManyTasksAtOnce) {
  ShardSink sink = begin();
  std::vector<std::string> described(kNumTasks);
  std::vector<std::thread> threads;
  for (int task = 0; task < kNumTasks; ++task) {
    threads.emplace_back([&, task] { described[static_cast<size_t>(task)] = run_task(task); });
  }
  for (std::thread& thread : threads) thread.join();
  expect_whole(sink.commit(described, kNumTasks));
}

INSTANTIATE_TEST_SUITE_P(Places, ShardSinkTest, ::testing::Bool(), [](const auto& place) {
  return std::string(place.param ? "Store" : "Folder");
});

}  // namespace
}  // namespace ffkit
