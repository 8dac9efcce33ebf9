// The order of a loader over local data and over data in a store, and states that change places.
#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::collect_rest;
using testing::records_of;

constexpr char kShuffled[] = "shuffle, 100 samples";
constexpr char kWindowed[] = "windowed by 8388608 bytes x 64, 100 samples";

class LoaderOrder : public ::testing::Test {
 protected:
  LoaderOrder() { setenv("FFKIT_CACHE", "off", /*overwrite=*/1); }

  static LoaderOptions make_options(SamplerOptions sampler = {}) {
    LoaderOptions options;
    options.batch_size = 8;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = 16};
    options.sampler = std::move(sampler);
    options.sampler.seed = 5;
    options.sampler.tail = Tail::exact;
    return options;
  }

  static std::string order_of(const Dataset& dataset, SamplerOptions sampler = {}) {
    const Loader loader(dataset, make_options(std::move(sampler)));
    EXPECT_EQ(loader.statistics().order, loader.state().order);
    return loader.state().order;
  }

  testing::TempDir dir_;
  const Dataset here_ =
      testing::make_dataset(dir_ / "train", {.num_records = 100, .num_shards = 5});
  const Dataset there_ = Dataset::open("file://" + (dir_ / "train").string());
};

TEST_F(LoaderOrder, IsWindowedOverAStoreWhereNobodyChoseOne) {
  EXPECT_EQ(order_of(here_), kShuffled);
  EXPECT_EQ(order_of(there_), kWindowed);
  EXPECT_EQ(order_of(there_, {.world_size = 4}),
            "windowed by 8388608 bytes x 64 in 4 streams, 100 samples");
  EXPECT_EQ(order_of(Dataset::chain({here_, there_})),
            "windowed by 8388608 bytes x 64, 200 samples");
  EXPECT_EQ(
      order_of(there_,
               {.windows = {.window_blocks = 3, .window_block_bytes = 5000, .num_streams = 2}}),
      "windowed by 5000 bytes x 3 in 2 streams, 100 samples");
}

TEST_F(LoaderOrder, IsAsChosenWhereverTheDataLie) {
  for (const Dataset& dataset : {here_, there_}) {
    EXPECT_EQ(order_of(dataset, {.order = Order::shuffle}), kShuffled);
    EXPECT_EQ(order_of(dataset, {.order = Order::sequential}), "sequential, 100 samples");
    EXPECT_EQ(order_of(dataset, {.order = Order::windowed, .world_size = 4}),
              "windowed by 64 x 64, 100 samples");
    EXPECT_EQ(
        order_of(dataset, {.order = Order::windowed, .windows = {.window_block_bytes = 4000}}),
        "windowed by 4000 bytes x 64, 100 samples");
    const auto groups = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0, 50});
    EXPECT_TRUE(order_of(dataset, {.groups = groups}).starts_with("shuffle of the groups "));
    EXPECT_EQ(order_of(dataset, {.mixture = Mixture{.num_records = {60, 40}}}),
              "mixture of 60/60 + 60/40, 120 samples");
  }
  EXPECT_ERROR(Loader(here_, make_options({.windows = {.num_streams = 2}})), invalid_argument);
}

TEST_F(LoaderOrder, EachRecordComesOnceOnManyRanks) {
  for (const Dataset& dataset :
       {there_, there_.where(parse_filter("label < 300")), there_.subset({90, 3, 3, 55, 20, 19})}) {
    std::vector<int64_t> all;
    for (int rank = 0; rank < 3; ++rank) {
      LoaderOptions options = make_options({.rank = rank, .world_size = 3});
      options.sampler.windows.window_block_bytes = 3000;
      options.sampler.windows.window_blocks = 2;
      options.batch_size = 2;
      Loader loader(dataset, options);
      const std::vector<int64_t> records = records_of(collect_epoch(loader, 1));
      all.insert(all.end(), records.begin(), records.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(std::ssize(all), dataset.num_records());
    for (int64_t i = 0; i < dataset.num_records(); ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
  }
}

TEST_F(LoaderOrder, AStateGoesOnInItsOrderInAnotherPlace) {
  for (const auto& [first, then] : {std::pair{here_, there_}, {there_, here_}}) {
    Loader straight(first, make_options());
    const auto epoch = collect_epoch(straight, 2);
    const auto next = collect_epoch(straight, 3);
    Loader before(first, make_options());
    before.set_epoch(2);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(before.next().has_value());
    const LoaderState state = before.state();
    Loader after(then, make_options());
    EXPECT_NE(after.state().order, state.order);
    ASSERT_TRUE(after.next().has_value());
    after.restore(state);
    EXPECT_EQ(after.state(), state);
    EXPECT_EQ(after.statistics().order, state.order);
    const auto rest = collect_rest(after);
    ASSERT_EQ(rest.size(), epoch.size() - 5);
    for (size_t i = 0; i < rest.size(); ++i) {
      EXPECT_EQ(rest[i].record_indices, epoch[i + 5].record_indices);
      EXPECT_EQ(rest[i].images, epoch[i + 5].images);
    }
    EXPECT_EQ(records_of(collect_epoch(after, 3)), records_of(next)) << "the order stays";
  }
}

TEST_F(LoaderOrder, AStateKeepsItsStreamsOnOtherRanks) {
  std::vector<int64_t> all;
  LoaderState state;
  for (int rank = 0; rank < 4; ++rank) {
    LoaderOptions options = make_options({.rank = rank, .world_size = 4});
    options.batch_size = 5;
    Loader loader(there_, options);
    for (int i = 0; i < 2; ++i) {
      const auto batch = loader.next();
      const auto records = batch->record_indices();
      all.insert(all.end(), records.begin(), records.end());
    }
    state = loader.state();
  }
  EXPECT_EQ(state.order, "windowed by 8388608 bytes x 64 in 4 streams, 100 samples");
  for (int rank = 0; rank < 3; ++rank) {
    Loader loader(here_, make_options({.rank = rank, .world_size = 3}));
    loader.restore(state);
    const std::vector<int64_t> records = records_of(collect_rest(loader));
    all.insert(all.end(), records.begin(), records.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 100U);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

TEST_F(LoaderOrder, WhatWasChosenIsNotGivenUpForAState) {
  const LoaderState shuffled = Loader(here_, make_options()).state();
  const LoaderState windowed = Loader(there_, make_options({.world_size = 4})).state();
  Loader chosen(there_, make_options({.order = Order::shuffle}));
  EXPECT_ERROR(chosen.restore(windowed), invalid_argument);
  EXPECT_NO_THROW(chosen.restore(shuffled));
  Loader two(there_, make_options({.world_size = 4, .windows = {.num_streams = 2}}));
  EXPECT_ERROR(two.restore(windowed), invalid_argument);
  Loader small(there_, make_options({.world_size = 4, .windows = {.window_block_bytes = 1 << 20}}));
  EXPECT_ERROR(small.restore(windowed), invalid_argument);
  LoaderState sequential = shuffled;
  sequential.order = "sequential, 100 samples";
  Loader open(there_, make_options());
  EXPECT_ERROR(open.restore(sequential), invalid_argument);
  LoaderState broken = windowed;
  for (const char* order :
       {"windowed by 5 x 5 in 0 streams, 100 samples", "windowed by -1 x 64, 100 samples",
        "windowed by 5 bytes x 64 in 2 streams, 99 samples", "windowed by x"}) {
    broken.order = order;
    EXPECT_ERROR_CODE(open.restore(broken), invalid_argument);
  }
  EXPECT_EQ(open.state().order, kWindowed) << "a refused state changes nothing";
}

}  // namespace
}  // namespace ffkit
