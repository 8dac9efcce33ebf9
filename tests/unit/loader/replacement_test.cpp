// Which records take the places of bad ones: of those that the order could have given.
#include "loader_prelude.h"

namespace ffkit {
namespace {

LoaderOptions replacing_options(const SamplerOptions& sampler) {
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = ResizeCenterCrop{.resize = 8, .size = 8};
  options.sampler = sampler;
  options.sampler.tail = Tail::even;
  options.bad_samples = BadSamples::skip;
  return options;
}

struct Replaced {
  int64_t bad = 0;
  int64_t by = 0;
};

std::vector<Replaced> replacements(const Dataset& dataset, const SamplerOptions& sampler,
                                   int64_t num_epochs) {
  std::vector<Replaced> out;
  Loader loader(dataset, replacing_options(sampler));
  for (int64_t epoch = 0; epoch < num_epochs; ++epoch) {
    loader.set_epoch(epoch);
    while (const auto batch = loader.next()) {
      for (const Replacement& r : batch->replacements()) {
        out.push_back(
            {r.bad_record, batch->record_indices()[static_cast<size_t>(r.index_in_batch)]});
      }
    }
  }
  return out;
}

class ReplacementTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
};

TEST_F(ReplacementTest, AreDrawnWithTheWeights) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_records = 20, .undecodable = {3, 8}});
  // Only the bad ones, and two good ones of which one is three times as heavy.
  std::vector<double> weights(20, 0.0);
  weights[3] = weights[8] = 2;
  weights[11] = 3;
  weights[17] = 1;
  const auto shared = std::make_shared<const std::vector<double>>(weights);
  const auto all =
      replacements(dataset, {.order = Order::weighted, .seed = 3, .weights = shared}, 20);
  ASSERT_GT(all.size(), 100U);
  int64_t num_heavy = 0;
  for (const Replaced& r : all) {
    ASSERT_TRUE(r.by == 11 || r.by == 17) << r.bad << " by " << r.by;
    num_heavy += r.by == 11 ? 1 : 0;
  }
  // Of each bad record there is one replacement an epoch: 40 independent draws.
  const double share = static_cast<double>(num_heavy) / static_cast<double>(all.size());
  EXPECT_GT(share, 0.55);
  EXPECT_LT(share, 0.95);
}

TEST_F(ReplacementTest, AreTheNearestOfTheirGroup) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_records = 12, .undecodable = {0, 5, 6, 7, 11}});
  // Groups 0..2, 3..6, 7..8, 9..11.
  const auto groups =
      std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0, 3, 7, 9});
  for (const bool share : {false, true}) {
    for (const Order order : {Order::shuffle, Order::sequential}) {
      const auto all =
          replacements(dataset, {.order = order, .groups = groups, .share_randomness = share}, 2);
      ASSERT_EQ(all.size(), 10U);
      for (const Replaced& r : all) {
        const int64_t expected = r.bad == 0   ? 1
                                 : r.bad == 5 ? 4
                                 : r.bad == 6 ? 4
                                 : r.bad == 7 ? 8
                                              : 10;
        EXPECT_EQ(r.by, expected) << r.bad;
      }
    }
  }
}

// All of group 1 is bad: its places are taken by one other group, in order.
TEST_F(ReplacementTest, OfAWholeGroupAreAnotherGroup) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_records = 16, .undecodable = {4, 5, 6, 7}});
  const auto groups =
      std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0, 4, 8, 12});
  bool differs = false;
  int64_t first = -1;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    Loader loader(
        dataset,
        replacing_options(
            {.order = Order::sequential, .seed = 1, .groups = groups, .share_randomness = true}));
    loader.set_epoch(epoch);
    loader.next();
    const auto batch = loader.next();
    ASSERT_EQ(batch->replacements().size(), 4U);
    const auto records = batch->record_indices();
    EXPECT_EQ(records[0] % 4, 0);
    EXPECT_NE(records[0], 4);
    for (size_t i = 1; i < 4; ++i) EXPECT_EQ(records[i], records[0] + static_cast<int64_t>(i));
    differs = differs || (first >= 0 && records[0] != first);
    first = records[0];
  }
  EXPECT_TRUE(differs) << "every epoch the same group";
}

// Records behind a sequential epoch's end belong to no epoch.
TEST_F(ReplacementTest, StayWithinASequentialEpoch) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_records = 60, .undecodable = {1, 4}});
  const auto all = replacements(dataset, {.order = Order::sequential, .epoch_size = 6}, 20);
  ASSERT_EQ(all.size(), 40U);
  for (const Replaced& r : all) EXPECT_LT(r.by, 6);
}

}  // namespace
}  // namespace ffkit
