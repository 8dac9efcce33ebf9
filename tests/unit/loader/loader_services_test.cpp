// What a loader tells its user besides batches: whether one is there yet, what one epoch cost,
// warnings, its state as text, and texts of samples.
#include <ffkit/loader/loader_state.h>

#include "loader_prelude.h"

namespace ffkit {
namespace {

using std::chrono::milliseconds;

class LoaderServices : public ::testing::Test {
 protected:
  static LoaderOptions make_options() {
    LoaderOptions options;
    options.batch_size = 5;
    options.num_threads = 2;
    options.image.transform = ResizeCenterCrop{.resize = 8, .size = 8};
    options.sampler = {.order = Order::sequential, .tail = Tail::even, .seed = 1};
    return options;
  }

  testing::TempDir dir_;
};

// Decodes nothing until it is let go.
class Gate final : public FieldDecoder {
 public:
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {}; }
  void decode(const RecordView&, const SampleKey&, Scratch*, void*) const override { open.wait(); }
  mutable std::latch open{1};
};

TEST_F(LoaderServices, WaitForEndsAfterItsLimitOrWithTheBatch) {
  const auto gate = std::make_shared<Gate>();
  LoaderOptions options = make_options();
  options.fields = {{"gate", gate}};
  Loader loader(testing::make_dataset(dir_ / "train"), options);
  EXPECT_FALSE(loader.wait_for(milliseconds(0)));
  EXPECT_FALSE(loader.wait_for(milliseconds(-1)));
  EXPECT_FALSE(loader.wait_for(milliseconds(5)));
  EXPECT_EQ(loader.state().position, 0) << "nothing was taken";
  gate->open.count_down();
  EXPECT_TRUE(loader.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(loader.ready());
  EXPECT_EQ(loader.next()->record_indices()[0], 0);
  while (loader.next()) {
  }
  EXPECT_TRUE(loader.wait_for(milliseconds(0))) << "next() says at once that the epoch is over";
  EXPECT_GE(loader.statistics().wait_seconds, 0.005);
}

TEST_F(LoaderServices, WaitForRefusesWhatNextRefuses) {
  LoaderOptions options = make_options();
  options.memory.held_batches = 1;
  Loader loader(testing::make_dataset(dir_ / "train"), options);
  const std::optional<Batch> held = loader.next();
  try {
    while (!loader.wait_for(std::chrono::seconds(10))) {
    }
  } catch (const Error& error) {  // unless the second batch was there already
    EXPECT_THAT(error.what(), HasSubstr("held_batches"));
  }
  EXPECT_ERROR(loader.next(), invalid_argument);
}

TEST_F(LoaderServices, StatisticsOfAnEpochBeginWithIt) {
  LoaderOptions options = make_options();
  options.io.read_ahead_epochs = false;
  Loader loader(testing::make_dataset(dir_ / "train", {.undecodable = {3}}), options);
  EXPECT_EQ(loader.epoch_statistics().num_samples, 0);
  EXPECT_THROW(while (loader.next()){}, Error);
  for (int64_t epoch = 1; epoch < 3; ++epoch) {
    loader.set_epoch(epoch);
    EXPECT_EQ(loader.epoch_statistics().num_batches, 0);
    EXPECT_THROW(loader.next(), Error);
  }
  options.bad_samples = BadSamples::skip;
  options.on_warning = [](std::string_view) {};
  Loader skipping(testing::make_dataset(dir_ / "skip", {.undecodable = {3}}), options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    skipping.set_epoch(epoch);
    while (skipping.next()) {
    }
    const LoaderStatistics stats = skipping.epoch_statistics();
    EXPECT_EQ(stats.num_samples, 40);
    EXPECT_EQ(stats.num_batches, 8);
    EXPECT_EQ(stats.num_replaced, 1);
    EXPECT_GT(stats.elapsed_seconds, 0);
    EXPECT_LT(stats.elapsed_seconds, skipping.statistics().elapsed_seconds + 1e-9);
    EXPECT_GE(stats.ready_batches, 0);
    EXPECT_EQ(skipping.statistics().num_samples, 40 * (epoch + 1));
  }
}

TEST_F(LoaderServices, StatisticsBetweenTwoSnapshots) {
  LoaderStatistics earlier;
  earlier.num_batches = 4;
  earlier.ready_batches = 1;
  earlier.read_seconds = 2;
  earlier.elapsed_seconds = 10;
  LoaderStatistics later = earlier;
  later.num_batches = 8;
  later.ready_batches = 2;
  later.read_seconds = 8;
  later.elapsed_seconds = 12;
  later.num_threads = 3;
  const LoaderStatistics between = later.since(earlier);
  EXPECT_EQ(between.num_batches, 4);
  EXPECT_DOUBLE_EQ(between.ready_batches, 3);
  EXPECT_DOUBLE_EQ(between.reads_in_flight, 3);
  EXPECT_EQ(between.num_threads, 3);
  EXPECT_EQ(later.since(later).reads_in_flight, 0);
}

// For ThreadSanitizer.
TEST_F(LoaderServices, StatisticsAreForAnyThread) {
  Loader loader(testing::make_dataset(dir_ / "train"), make_options());
  std::atomic<bool> is_over = false;
  std::thread watcher([&] {
    while (!is_over) EXPECT_GE(loader.statistics().elapsed_seconds, 0);
  });
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    loader.set_epoch(epoch);
    while (loader.next()) {
    }
  }
  is_over = true;
  watcher.join();
}

TEST_F(LoaderServices, WarningsGoToTheUsersSinkWithTheReasonThatTheBatchHas) {
  std::mutex mutex;
  std::vector<std::string> warnings;
  LoaderOptions options = make_options();
  options.bad_samples = BadSamples::skip;
  options.on_warning = [&](std::string_view message) {
    const std::scoped_lock lock(mutex);
    warnings.emplace_back(message);
    throw 1;  // dropped
  };
  {
    Loader loader(testing::make_dataset(dir_ / "train", {.num_shards = 1, .undecodable = {3}}),
                  options);
    const std::optional<Batch> batch = loader.next();
    ASSERT_EQ(batch->replacements().size(), 1U);
    EXPECT_THAT(batch->replacements()[0].reason, HasSubstr("shard-00000.ffr: record 3: "));
  }
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], HasSubstr("record 3 is replaced by record "));
  EXPECT_THAT(warnings[0], HasSubstr("shard-00000.ffr: record 3: "));
}

// Numbers of records in messages count in the split, also where the loader reads a part of it:
// `ffinspect cat` takes them.
TEST_F(LoaderServices, MessagesCountRecordsInTheSplit) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_shards = 1, .undecodable = {30, 31}});
  std::mutex mutex;
  std::vector<std::string> warnings;
  LoaderOptions options = make_options();
  options.batch_size = 2;
  options.bad_samples = BadSamples::skip;
  options.on_warning = [&](std::string_view message) {
    const std::scoped_lock lock(mutex);
    warnings.emplace_back(message);
  };
  {
    Loader loader(dataset.subset({30, 32}), options);
    const std::optional<Batch> batch = loader.next();
    ASSERT_EQ(batch->replacements().size(), 1U);
    EXPECT_EQ(batch->replacements()[0].bad_record, 0) << "a number of the loader's records";
  }
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], HasSubstr("record 30 is replaced by record 32: "));
  Loader hopeless(dataset.subset({30, 31}), options);
  EXPECT_ERROR(hopeless.next(), corrupt, .record = 30);
}

TEST_F(LoaderServices, StringsComeWithTheBatch) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  LoaderOptions options = make_options();
  options.batch_size = 3;
  options.fields = {{"id", copy_string(dataset.schema(), "id")}};
  Loader loader(dataset, options);
  {
    const std::optional<Batch> batch = loader.next();
    EXPECT_THAT(batch->strings("id"),
                ElementsAre("class/000000.JPEG", "class/000001.JPEG", "class/000002.JPEG"));
    EXPECT_ERROR(batch->strings("label"), invalid_argument);
    EXPECT_ERROR(batch->strings("name"), not_found, .subject = field);
    EXPECT_ERROR(Batch().strings("id"), not_found, .subject = field);
  }
  std::optional<Batch> last;
  while (std::optional<Batch> batch = loader.next()) last = std::move(batch);
  EXPECT_THAT(last->strings("id"), ElementsAre("class/000039.JPEG"));

  EXPECT_ERROR(copy_string(dataset.schema(), "label"), invalid_argument);
  EXPECT_ERROR(copy_string(dataset.schema(), "id", -1), invalid_argument);
  EXPECT_ERROR(copy_string(dataset.schema(), "name"), not_found, .subject = field);
}

TEST(LoaderStateText, GoesToTextAndBack) {
  const LoaderState state{.fingerprint = "0123456789abcdef",
                          .seed = ~uint64_t{0},
                          .epoch = 2,
                          .position = 300,
                          .order = "shuffle of the groups 00ff, 1281167 samples"};
  const std::string text = state.to_text();
  EXPECT_EQ(text,
            "ffkit-loader-state-2 data=0123456789abcdef seed=18446744073709551615 epoch=2 "
            "position=300 order=shuffle of the groups 00ff, 1281167 samples");
  EXPECT_EQ(LoaderState::from_text(text), state);
  EXPECT_EQ(LoaderState::from_text(LoaderState().to_text()), LoaderState());
}

TEST(LoaderStateText, RefusesAnyOtherText) {
  const std::string whole =
      LoaderState{.fingerprint = "0123", .order = "shuffle, 3 samples"}.to_text();
  for (size_t length = 0; length < whole.find("order=") + 6; ++length) {
    EXPECT_ERROR_CODE(LoaderState::from_text(whole.substr(0, length)), invalid_argument);
  }
  for (const char* bad :
       {"ffkit-loader-state-3 data=0 seed=1 epoch=0 position=0 order=x",
        "ffkit-loader-state-2 data=0 seed=-1 epoch=0 position=0 order=x",
        "ffkit-loader-state-2 data=0 seed=1 epoch=0x1 position=0 order=x",
        "ffkit-loader-state-2 data=0 seed=1 epoch=9223372036854775808 position=0 order=x",
        "ffkit-loader-state-2 data=0 epoch=0 seed=1 position=0 order=x"}) {
    EXPECT_ERROR(LoaderState::from_text(bad), invalid_argument);
  }
}

TEST_F(LoaderServices, StateOfAnotherSizeOrOrderIsRefusedInASentence) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  Loader loader(dataset, make_options());
  LoaderState state = loader.state();
  LoaderOptions options = make_options();
  options.sampler.order = Order::shuffle;
  Loader other(dataset, options);
  EXPECT_ERROR(other.restore(LoaderState::from_text(state.to_text())), invalid_argument);
  loader.restore(LoaderState::from_text(state.to_text()));
  EXPECT_EQ(loader.state(), state);
}

LoaderStatistics two_threads_for_ten_seconds(double busy_seconds, double wait_seconds) {
  LoaderStatistics s;
  s.num_batches = 10;
  s.num_samples = 640;
  s.num_threads = 2;
  s.elapsed_seconds = 10;
  s.busy_seconds = busy_seconds;
  s.wait_seconds = wait_seconds;
  s.bytes_read = 1'000'000'000;
  s.num_reads = 1000;
  s.read_seconds = 20;
  s.reads_in_flight = 2;
  return s;
}

TEST(LoaderStatistics, SaysWhatTheLoaderWaitsFor) {
  EXPECT_EQ(two_threads_for_ten_seconds(19.6, 5).verdict(), "decode-bound: 2 threads at 98 %");
  EXPECT_EQ(two_threads_for_ten_seconds(19.6, 0.2).verdict(),
            "consumer-bound: it waits 2.0 % of the time; 2 threads at 98 %");
  EXPECT_EQ(two_threads_for_ten_seconds(4, 8).verdict(),
            "disk-bound: 100 MB/s, 2.0 reads in flight of 20.0 ms each; 2 threads at 20 %");
  LoaderStatistics of_store = two_threads_for_ten_seconds(4, 8);
  of_store.bytes_from_store = 60'000'000;
  EXPECT_EQ(of_store.verdict(),
            "network-bound: 100 MB/s, 2.0 reads in flight of 20.0 ms each; 2 threads at 20 %");
  of_store.bytes_from_store = 40'000'000;  // the cache has the rest
  EXPECT_EQ(of_store.verdict(),
            "disk-bound: 100 MB/s, 2.0 reads in flight of 20.0 ms each; 2 threads at 20 %");
  // A warm cache, and little to decode.
  LoaderStatistics of_small = two_threads_for_ten_seconds(4, 8);
  of_small.read_seconds = 1;
  of_small.reads_in_flight = 0.1;
  EXPECT_EQ(of_small.verdict(),
            "overhead-bound: 0.1 reads in flight; 2 threads at 20 %: each batch has fixed "
            "costs, at 1 batches/s; use larger batches");
  EXPECT_EQ(LoaderStatistics().verdict(), "no batch has been taken yet");
}

// For ThreadSanitizer: the engine registers its memory while it is asked what it has registered.
TEST(LoaderStatistics, MayBeAskedForWhileReadsGoOn) {
  const testing::TempDir dir;
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
  options.io.direct = DirectIo::on;
  options.io.max_bytes_in_flight = 64 << 10;
  std::optional<Loader> loader;
  try {
    loader.emplace(testing::make_dataset(dir / "train"), options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    loader->set_epoch(epoch);
    while (loader->next()) EXPECT_FALSE(loader->statistics().io_engine.empty());
  }
  EXPECT_GT(loader->statistics().bytes_read, options.io.max_bytes_in_flight);
}

}  // namespace
}  // namespace ffkit
