// Loader::state() and restore(): going on with exactly the next sample.
#include <pthread.h>

#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::collect_rest;
using testing::records_of;

class LoaderStateTest : public ::testing::Test {
 protected:
  static LoaderOptions make_options(int64_t batch_size = 4, Tail tail = Tail::exact) {
    LoaderOptions options;
    options.batch_size = batch_size;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = 16};
    options.image.output = {.dtype = DType::f32};
    options.sampler.seed = 11;
    options.sampler.tail = tail;
    return options;
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_records = 30});
};

TEST_F(LoaderStateTest, RestoredLoaderGoesOnWithTheSameBytes) {
  Loader straight(dataset_, make_options());
  const std::vector<CollectedBatch> all = testing::collect_epoch(straight, 2);
  for (size_t k = 0; k <= all.size(); ++k) {
    Loader before(dataset_, make_options());
    before.set_epoch(2);
    for (size_t i = 0; i < k; ++i) ASSERT_TRUE(before.next().has_value());
    const LoaderState state = before.state();
    Loader after(dataset_, make_options());
    after.restore(state);
    EXPECT_EQ(after.state(), state);
    std::vector<CollectedBatch> rest = collect_rest(after);
    for (CollectedBatch& batch : rest)
      batch.step += static_cast<int64_t>(k);  // counted from the restart
    EXPECT_EQ(rest, std::vector<CollectedBatch>(all.begin() + static_cast<ptrdiff_t>(k), all.end()))
        << "after " << k << " batches";
  }
}

// A state of when crops mirrored half of the pictures by default: its flips never go silently.
TEST_F(LoaderStateTest, AStateOfBeforeWarnsOfCropsThatMirrorNothing) {
  std::vector<std::string> warnings;
  const auto num_warnings = [&](LoaderOptions options, std::string_view kind) {
    warnings.clear();
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    Loader loader(dataset_, options);
    std::string text = loader.state().to_text();
    text.replace(0, text.find(' '), kind);
    const LoaderState state = LoaderState::from_text(text);
    EXPECT_EQ(state.to_text(), text);
    loader.restore(state);
    return std::ranges::count_if(warnings, [](const std::string& one) {
      return one.find("give the crops flip_probability=0.5") != std::string::npos;
    });
  };
  LoaderOptions options = make_options();
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-1"), 1);
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-2"), 0);
  options.image.transform = RandomResizedCrop{.size = 16, .flip_probability = 0.5};
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-1"), 0);
  options.image.transform = Compose{{RandomCrop{.size = 8}}};
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-1"), 1);
  options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-1"), 0);
  options.fields = {
      {"other", decode_image(dataset_.schema(), "image", {.transform = RandomCrop{.size = 8}})}};
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-1"), 1);
  options.fields.clear();
  options.views = {{"v", {.transform = RandomResizedCrop{.size = 8}}, 2}};
  EXPECT_EQ(num_warnings(options, "ffkit-loader-state-1"), 1);
}

TEST_F(LoaderStateTest, GoesOnAtAnotherBatchSizeAndWorldSize) {
  LoaderOptions one = make_options(1);
  Loader straight(dataset_, one);
  const std::vector<int64_t> all = records_of(testing::collect_epoch(straight, 0));
  Loader before(dataset_, make_options(4));
  before.set_epoch(0);
  for (int64_t k = 0; k < 7; ++k) {
    const LoaderState state = before.state();
    ASSERT_EQ(state.position, 4 * k);
    // Two ranks of 3 from there: their batches in turns are the rest of the sequence.
    std::vector<std::vector<CollectedBatch>> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      LoaderOptions options = make_options(3);
      options.sampler.rank = rank;
      options.sampler.world_size = 2;
      Loader after(dataset_, options);
      after.restore(state);
      ranks.push_back(collect_rest(after));
    }
    std::vector<int64_t> rest;
    for (size_t step = 0; step < ranks[0].size(); ++step) {
      for (const auto& batches : ranks) {
        if (step >= batches.size()) continue;
        rest.insert(rest.end(), batches[step].record_indices.begin(),
                    batches[step].record_indices.end());
      }
    }
    EXPECT_EQ(rest, std::vector<int64_t>(all.begin() + state.position, all.end()))
        << state.position;
    ASSERT_TRUE(before.next().has_value());
  }
}

TEST_F(LoaderStateTest, PrefetchedBatchesDoNotCountAsConsumed) {
  LoaderOptions options = make_options();
  options.memory.prefetch_batches = 8;
  Loader loader(dataset_, options);
  EXPECT_EQ(loader.state(),
            (LoaderState{dataset_.manifest().fingerprint(), 11, 0, 0, "shuffle, 30 samples"}));
  loader.set_epoch(5);
  loader.next();
  EXPECT_EQ(loader.state(),
            (LoaderState{dataset_.manifest().fingerprint(), 11, 5, 4, "shuffle, 30 samples"}));
}

TEST_F(LoaderStateTest, AtTheEndEveryRankHasConsumedEverything) {
  // 30 records, 4 ranks of 8: the last rank gets 6, and of 7 the last gets 2 in its second step,
  // others more or nothing.
  for (int64_t batch_size : {7, 8}) {
    for (int rank = 0; rank < 4; ++rank) {
      LoaderOptions options = make_options(batch_size);
      options.sampler.rank = rank;
      options.sampler.world_size = 4;
      Loader loader(dataset_, options);
      collect_rest(loader);
      EXPECT_EQ(loader.state().position, 30);
      loader.restore(loader.state());
      EXPECT_FALSE(loader.next().has_value());
    }
  }
}

TEST_F(LoaderStateTest, RestoreInTheMiddleDropsWhatWasReadAhead) {
  Loader loader(dataset_, make_options());
  const auto all = testing::collect_epoch(loader, 0);
  loader.set_epoch(0);
  loader.next();
  const LoaderState state = loader.state();
  loader.set_epoch(9);
  loader.next();
  loader.restore(state);
  auto rest = collect_rest(loader);
  ASSERT_EQ(rest.size(), all.size() - 1);
  EXPECT_EQ(rest[0].images, all[1].images);
}

// While it lives no thread can be made: none gets a stack of 64 TiB.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_init(&attributes_);
    pthread_getattr_default_np(&attributes_);
    pthread_attr_getstacksize(&attributes_, &stack_bytes_);
    set(size_t{1} << 46);
  }
  ~NoMoreThreads() {
    set(stack_bytes_);
    pthread_attr_destroy(&attributes_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  void set(size_t stack_bytes) {
    EXPECT_EQ(pthread_attr_setstacksize(&attributes_, stack_bytes), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes_), 0);
  }
  pthread_attr_t attributes_;
  size_t stack_bytes_ = 0;
};

TEST_F(LoaderStateTest, AStartThatFailsLeavesThePlace) {
  Loader loader(dataset_, make_options());
  const std::vector<CollectedBatch> all = testing::collect_epoch(loader, 5);
  loader.set_epoch(5);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(loader.next().has_value());
  const LoaderState before = loader.state();
  ASSERT_EQ(before.position, 8);
  LoaderState other = before;
  other.epoch = 7;
  other.position = 4;
  {
    const NoMoreThreads limit;
    EXPECT_THROW(loader.set_epoch(9), std::exception);
    EXPECT_EQ(loader.state(), before);
    EXPECT_THROW(loader.restore(other), std::exception);
    EXPECT_EQ(loader.state(), before);
    EXPECT_THROW(loader.next(), std::exception);
    EXPECT_EQ(loader.state(), before);
    EXPECT_FALSE(loader.ready());
  }
  // It goes on with the sample that comes next.
  const std::vector<CollectedBatch> rest = collect_rest(loader);
  ASSERT_EQ(rest.size(), all.size() - 2);
  for (size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i].record_indices, all[i + 2].record_indices);
    EXPECT_EQ(rest[i].images, all[i + 2].images);
    EXPECT_EQ(rest[i].epoch, 5);
  }
  // Of a loader that has returned nothing too, and at the end of an epoch.
  const LoaderState at_end = loader.state();
  Loader restored(dataset_, make_options());
  restored.restore(other);
  {
    const NoMoreThreads limit;
    EXPECT_THROW(restored.set_epoch(9), std::exception);
    EXPECT_THROW(loader.set_epoch(9), std::exception);
  }
  EXPECT_EQ(restored.state(), other);
  EXPECT_EQ(loader.state(), at_end);
  EXPECT_FALSE(loader.next().has_value());
  EXPECT_EQ(loader.state(), at_end);
}

// Notes whether it decodes for an epoch that cannot be.
class EpochWatcher final : public FieldDecoder {
 public:
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {0}; }
  void decode(const RecordView&, const SampleKey& key, Scratch*, void*) const override {
    if (key.epoch < 0) saw_negative = true;
  }
  mutable std::atomic<bool> saw_negative{false};
};

TEST_F(LoaderStateTest, TheLastEpochThereIsEndsWithoutAnother) {
  const auto watcher = std::make_shared<EpochWatcher>();
  LoaderOptions options = make_options();
  options.fields.push_back({"epoch", watcher});
  Loader loader(dataset_, options);
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(testing::collect_epoch(loader, kLast).size(), 8U);
    EXPECT_EQ(loader.state().epoch, kLast);
  }
  loader.set_epoch(kLast - 1);
  EXPECT_EQ(collect_rest(loader).size(), 8U);
  EXPECT_EQ(testing::collect_epoch(loader, kLast).front().epoch, kLast);
  EXPECT_FALSE(watcher->saw_negative) << "it read ahead beyond the last epoch";
}

TEST_F(LoaderStateTest, RefusesAStateOfAnotherRun) {
  Loader loader(dataset_, make_options());
  LoaderState state = loader.state();
  state.fingerprint = "0123456789abcdef";
  EXPECT_ERROR(loader.restore(state), invalid_argument);
  state = loader.state();
  state.seed = 12;
  EXPECT_ERROR(loader.restore(state), invalid_argument);
  state = loader.state();
  state.position = 31;
  EXPECT_ERROR(loader.restore(state), invalid_argument);
  state.position = -1;
  EXPECT_ERROR(loader.restore(state), invalid_argument);
}

TEST_F(LoaderStateTest, RefusesAStateOfAnotherOrderOrEpochSize) {
  const auto weights = [](double last) {
    std::vector<double> values(30, 1.0);
    values.back() = last;
    return std::make_shared<const std::vector<double>>(values);
  };
  const auto groups = [](std::vector<int64_t> starts) {
    return std::make_shared<const std::vector<int64_t>>(std::move(starts));
  };
  const std::vector<SamplerOptions> samplers = {
      {.order = Order::shuffle},
      {.order = Order::sequential},
      {.order = Order::windowed},
      {.order = Order::windowed, .windows = {.window_block = 8}},
      {.order = Order::windowed, .windows = {.window_blocks = 8}},
      {.order = Order::shuffle, .epoch_size = 20},
      {.order = Order::weighted, .weights = weights(1)},
      {.order = Order::weighted, .weights = weights(2)},
      {.order = Order::weighted, .epoch_size = 60, .weights = weights(1)},
      {.order = Order::shuffle, .groups = groups({0, 10, 20})},
      {.order = Order::shuffle, .groups = groups({0, 10, 21})},
  };
  std::vector<LoaderState> states;
  std::vector<std::unique_ptr<Loader>> loaders;
  for (const SamplerOptions& sampler : samplers) {
    LoaderOptions options = make_options();
    options.sampler = sampler;
    options.sampler.seed = 11;
    loaders.push_back(std::make_unique<Loader>(dataset_, options));
    ASSERT_TRUE(loaders.back()->next().has_value());
    states.push_back(loaders.back()->state());
  }
  for (size_t i = 0; i < samplers.size(); ++i) {
    for (size_t j = 0; j < samplers.size(); ++j) {
      if (i == j) {
        EXPECT_NO_THROW(loaders[i]->restore(states[j])) << i;
      } else {
        EXPECT_ERROR_CODE(loaders[i]->restore(states[j]), invalid_argument) << i << ' ' << j;
      }
    }
    EXPECT_EQ(loaders[i]->state(), states[i]) << "a refused state changes nothing";
  }
  // The whole epoch, however it is said; another tail, batch size or rank is no other order.
  LoaderOptions options = make_options(5, Tail::pad);
  options.sampler.epoch_size = 30;
  options.sampler.world_size = 2;
  options.sampler.rank = 1;
  EXPECT_NO_THROW(Loader(dataset_, options).restore(states[0]));
}

TEST_F(LoaderStateTest, RefusesAStateWithoutAnOrder) {
  Loader loader(dataset_, make_options());
  LoaderState state = loader.state();
  state.order.clear();
  EXPECT_ERROR(loader.restore(state), invalid_argument);
}

}  // namespace
}  // namespace ffkit
