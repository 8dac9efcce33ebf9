// Loaders that end early leave nothing behind: no threads, no descriptors, no memory that a batch
// still needs.
#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::count_entries;
using testing::expect;

// Through the page cache reads are over at once; with O_DIRECT they are really in flight when a
// loader ends.
class LoaderLifetimeTest : public ::testing::TestWithParam<std::tuple<IoEngine, DirectIo>> {
 protected:
  void SetUp() override {
    try {
      const Loader loader(dataset_, make_options());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) GTEST_SKIP() << error.what();
      throw;
    }
  }

  static LoaderOptions make_options() {
    LoaderOptions options;
    options.batch_size = 8;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = 32};
    std::tie(options.io.engine, options.io.direct) = GetParam();
    // The pread engine would have read at once what the page cache holds: there the decoders do.
    options.io.decoders_read_cache = options.io.engine == IoEngine::pread;
    options.sampler.tail = Tail::exact;
    return options;
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_records = 200});
};

TEST_P(LoaderLifetimeTest, NothingIsLeftBehind) {
  const auto use = [&](int num_batches) {
    Loader loader(dataset_, make_options());
    loader.set_epoch(0);
    for (int i = 0; i < num_batches; ++i) loader.next();
  };
  for (int i = 0; i < 5; ++i) use(3);
  const int64_t num_files = count_entries("/proc/self/fd");
  const int64_t num_threads = count_entries("/proc/self/task");
  constexpr int kNumUses = 40;
  for (int i = 0; i < kNumUses; ++i) {
    try {
      use(i % 4);
      if (i % 2 == 0) {
        Loader loader(dataset_, make_options());
        const std::optional<Batch> batch = loader.next();
        throw std::runtime_error("the consumer's own");
      }
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(count_entries("/proc/self/fd"), num_files);
  EXPECT_EQ(count_entries("/proc/self/task"), num_threads);
}

// Sanitizers keep freed memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_P(LoaderLifetimeTest, MemoryKeepsItsBoundOverFiftyEpochs) {
  LoaderOptions options = make_options();
  options.image.transform = RandomResizedCrop{.size = 128};
  options.batch_size = 16;
  options.io.max_bytes_in_flight = 1 << 20;
  {
    Loader loader(dataset_, options);  // libraries have their memory from here on
    testing::collect_epoch(loader, 0);
  }
  const int64_t before = resident_bytes();
  Loader loader(dataset_, options);
  // Threads, stacks and decoders: none of it grows with the data.
  constexpr int64_t kFixed = 12 << 20;
  int64_t after_ten = 0;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    loader.set_epoch(epoch);
    while (loader.next().has_value()) {
    }
    if (epoch == 9) after_ten = resident_bytes();
    ASSERT_LE(resident_bytes() - before, loader.memory_bound() + kFixed) << "epoch " << epoch;
  }
  // Within the bound a slab that was not needed before may be touched late; 600 batches that leak
  // would show.
  EXPECT_LE(resident_bytes() - after_ten, 8 << 20);
}
#endif

TEST_P(LoaderLifetimeTest, BatchesOutliveTheirLoader) {
  auto loader = std::make_unique<Loader>(dataset_, make_options());
  std::vector<Batch> held;
  held.push_back(*loader->next());
  held.push_back(*loader->next());
  const auto first = testing::collect(held[0]);
  const auto second = testing::collect(held[1]);
  loader.reset();
  EXPECT_EQ(testing::collect(held[0]), first);
  EXPECT_EQ(testing::collect(held[1]), second);
}

TEST_P(LoaderLifetimeTest, CopiesOfBatchesAreNotHeld) {
  LoaderOptions options = make_options();
  options.memory.held_batches = 1;
  options.fields = {{"id", copy_string(dataset_.schema(), "id")}};
  Loader loader(dataset_, options);
  std::vector<Batch> copies;
  std::vector<std::vector<std::string>> ids;
  while (const std::optional<Batch> batch = loader.next()) {
    EXPECT_EQ(loader.num_held_batches(), 1);
    const auto texts = batch->strings("id");
    ids.emplace_back(texts.begin(), texts.end());
    copies.push_back(batch->copy());
    EXPECT_EQ(testing::collect(copies.back()), testing::collect(*batch));
    EXPECT_NE(copies.back().images(), batch->images());
  }
  EXPECT_EQ(loader.num_held_batches(), 0);
  for (size_t i = 0; i < copies.size(); ++i) {
    const auto texts = copies[i].strings("id");
    EXPECT_EQ(std::vector<std::string>(texts.begin(), texts.end()), ids[i]);
    EXPECT_EQ(copies[i].step(), static_cast<int64_t>(i));
  }
  EXPECT_EQ(Batch().copy().size(), 0);
}

TEST_P(LoaderLifetimeTest, HeldBatchesStayUnchangedOverEpochs) {
  Loader loader(dataset_, make_options());
  const std::optional<Batch> held = loader.next();
  const auto before = testing::collect(*held);
  for (int64_t epoch = 1; epoch < 4; ++epoch) {
    loader.set_epoch(epoch);
    while (loader.next().has_value()) {
    }
    EXPECT_EQ(testing::collect(*held), before);
  }
}

TEST_P(LoaderLifetimeTest, EpochsCanBeAbandonedAnywhere) {
  Loader reference(dataset_, make_options());
  const auto expected = testing::collect_epoch(reference, 7);
  LoaderOptions options = make_options();
  options.memory.prefetch_batches = 20;
  Loader loader(dataset_, options);
  for (int round = 0; round < 25; ++round) {
    loader.set_epoch(round);
    for (int i = 0; i < round % 5; ++i) ASSERT_TRUE(loader.next().has_value());
  }
  EXPECT_EQ(testing::collect_epoch(loader, 7), expected);
}

TEST_P(LoaderLifetimeTest, EndingEarlyDropsWhatHasNotBegun) {
  // Counts the samples, and takes its time for each.
  class SlowDecoder final : public FieldDecoder {
   public:
    DType dtype() const override { return DType::u8; }
    std::vector<int64_t> shape() const override { return {}; }
    void decode(const RecordView&, const SampleKey&, Scratch*, void*) const override {
      ++num_decoded;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 200 of them: half a second
    }
    mutable std::atomic<int> num_decoded{0};
  };
  LoaderOptions options = make_options();
  options.memory.prefetch_batches = 25;  // the whole epoch: 200 pictures on their way
  options.image_field = "";
  int fewest = 200;
  for (int i = 0; i < 5; ++i) {
    const auto decoder = std::make_shared<SlowDecoder>();
    options.fields = {{"slow", decoder}};
    {
      Loader loader(dataset_, options);
      loader.set_epoch(0);
    }
    fewest = std::min(fewest, decoder->num_decoded.load());
  }
  EXPECT_LT(fewest, 100);
}

TEST_P(LoaderLifetimeTest, MovedLoaderGoesOn) {
  Loader a(dataset_, make_options());
  a.next();
  Loader b = std::move(a);
  EXPECT_EQ(b.next()->step(), 1);
  b = Loader(dataset_, make_options());
  EXPECT_EQ(b.next()->step(), 0);
}

TEST_P(LoaderLifetimeTest, TwoLoadersWorkSideBySide) {
  LoaderOptions other = make_options();
  other.sampler.seed = 2;
  other.num_threads = 3;
  Loader a(dataset_, make_options());
  Loader b(dataset_, other);
  Loader alone(dataset_, make_options());
  const auto expected = testing::collect_epoch(alone, 0);
  size_t i = 0;
  while (const auto batch = a.next()) {
    EXPECT_EQ(testing::collect(*batch), expected[i++]);
    EXPECT_TRUE(b.next().has_value());
  }
  EXPECT_EQ(i, expected.size());
}

// Both have work all the time; the second one brings its I/O thread, and the pread engine its
// readers.
TEST_P(LoaderLifetimeTest, SecondLoaderStartsNoDecodingThreads) {
  LoaderOptions options = make_options();
  options.num_threads = 6;
  Loader a(dataset_, options);
  EXPECT_TRUE(a.next().has_value());
  if (a.statistics().io_engine == "pread") GTEST_SKIP() << "its readers are threads too";
  const int64_t num_threads = count_entries("/proc/self/task");
  EXPECT_GE(num_threads, 6);
  Loader b(dataset_, options);
  while (a.next().has_value()) EXPECT_TRUE(b.next().has_value());
  EXPECT_LE(count_entries("/proc/self/task"), num_threads + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, LoaderLifetimeTest,
    ::testing::Combine(::testing::Values(IoEngine::automatic, IoEngine::pread),
                       ::testing::Values(DirectIo::off, DirectIo::on)),
    [](const auto& param_info) {
      return fmt::format("{}_{}",
                         std::get<0>(param_info.param) == IoEngine::pread ? "pread" : "automatic",
                         std::get<1>(param_info.param) == DirectIo::on ? "direct" : "buffered");
    });

// A loader in a child process after fork(), which has none of its threads.
template <typename Call>
void expect_refused(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::invalid_argument, error.what());
    expect(std::string(error.what()).find("before fork()") != std::string::npos, error.what());
    return;
  }
  expect(false, "an error is thrown");
}

TEST(LoaderFork, InheritedLoaderIsAnErrorAndAnotherOneWorks) {
  FFKIT_SKIP_FORK_BESIDE_THREADS();
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train");
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
  std::optional<Loader> loader(std::in_place, dataset, options);
  const std::optional<Batch> held = loader->next();
  const LoaderState state = loader->state();
  const auto child = [&] {
    alarm(300);  // for what hangs
    expect(held->size() == 4, "batches can be read");
    expect(loader->ready(), "next() does not block");
    expect_refused([&] { loader->next(); });
    expect_refused([&] { loader->set_epoch(1); });
    expect_refused([&] { loader->restore(state); });
    expect(loader->state() == state, "the state is known");
    Loader own(dataset, options);
    own.restore(loader->state());
    expect(own.next()->record_indices().size() == 4, "a loader of the child's own reads");
    *loader = std::move(own);
    expect(loader->next().has_value(), "and may take the place of the other");
    loader.reset();
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  EXPECT_TRUE(loader->next().has_value()) << "the parent's continues";
}

}  // namespace
}  // namespace ffkit
