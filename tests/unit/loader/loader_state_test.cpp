// Loader::state() and restore(): going on with exactly the next sample.
#include <gtest/gtest.h>

#include <vector>

#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "expect_error.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using testing::collect_rest;
using testing::CollectedBatch;
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
    before.start_epoch(2);
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

TEST_F(LoaderStateTest, GoesOnAtAnotherBatchSizeAndWorldSize) {
  LoaderOptions one = make_options(1);
  Loader straight(dataset_, one);
  const std::vector<int64_t> all = records_of(testing::collect_epoch(straight, 0));
  Loader before(dataset_, make_options(4));
  before.start_epoch(0);
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
  options.prefetch_batches = 8;
  Loader loader(dataset_, options);
  EXPECT_EQ(loader.state(), (LoaderState{dataset_.manifest().fingerprint(), 11, 0, 0}));
  loader.start_epoch(5);
  loader.next();
  EXPECT_EQ(loader.state(), (LoaderState{dataset_.manifest().fingerprint(), 11, 5, 4}));
}

TEST_F(LoaderStateTest, AtTheEndEveryRankHasConsumedEverything) {
  // 30 records, 4 ranks of 8: the last rank gets 6, and of 7 the last gets 2 in its second step, others more or nothing.
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
  loader.start_epoch(0);
  loader.next();
  const LoaderState state = loader.state();
  loader.start_epoch(9);
  loader.next();
  loader.restore(state);
  auto rest = collect_rest(loader);
  ASSERT_EQ(rest.size(), all.size() - 1);
  EXPECT_EQ(rest[0].images, all[1].images);
}

TEST_F(LoaderStateTest, RefusesAStateOfAnotherRun) {
  Loader loader(dataset_, make_options());
  LoaderState state = loader.state();
  state.fingerprint = "0123456789abcdef";
  EXPECT_ERROR(loader.restore(state), invalid_argument, "belongs to data set 0123456789abcdef");
  state = loader.state();
  state.seed = 12;
  EXPECT_ERROR(loader.restore(state), invalid_argument, "saved with seed 12");
  state = loader.state();
  state.position = 31;
  EXPECT_ERROR(loader.restore(state), invalid_argument, "position 31");
  state.position = -1;
  EXPECT_ERROR(loader.restore(state), invalid_argument, "position -1");
}

}  // namespace
}  // namespace ffkit
