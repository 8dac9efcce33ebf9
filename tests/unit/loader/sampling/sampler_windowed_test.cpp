#include "loader_prelude.h"
#include "sampling/record_orders.h"

namespace ffkit {
namespace {

std::vector<int64_t> whole_order(int64_t n, int64_t block, int64_t blocks, uint64_t key) {
  WindowedOrder order(n, block, blocks, key);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(order(i));
  return all;
}

TEST(WindowedOrder, IsAPermutationForAnySizes) {
  for (int64_t n = 1; n <= 130; ++n) {
    for (int64_t block : {1, 2, 3, 7, 10, 64, 200}) {
      for (int64_t blocks : {1, 2, 3, 5, 200}) {
        for (uint64_t key : {1U, 2U, 3U}) {
          auto all = whole_order(n, block, blocks, key);
          std::sort(all.begin(), all.end());
          for (int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(all[static_cast<size_t>(i)], i) << n << " " << block << " " << blocks;
          }
        }
      }
    }
  }
}

TEST(WindowedOrder, AnyPositionIsFoundWithoutThoseBefore) {
  const auto all = whole_order(1003, 10, 7, 5);
  for (int64_t i = 1002; i >= 0; i -= 13) {
    WindowedOrder order(1003, 10, 7, 5);
    EXPECT_EQ(order(i), all[static_cast<size_t>(i)]);
    EXPECT_EQ(order(0), all[0]);
  }
}

TEST(WindowedOrder, TouchesOnlyTheBlocksOfOneWindowAtATime) {
  constexpr int64_t kRecords = 1003;
  constexpr int64_t kBlock = 10;
  constexpr int64_t kBlocks = 7;
  for (uint64_t key = 0; key < 20; ++key) {
    const auto all = whole_order(kRecords, kBlock, kBlocks, key);
    std::set<int64_t> seen;
    size_t position = 0;
    while (position < all.size()) {
      // A window ends when its blocks are complete: the next seven that appear.
      std::set<int64_t> window;
      int64_t left = 0;
      do {
        const int64_t block = all[position++] / kBlock;
        if (window.insert(block).second) {
          left += block == kRecords / kBlock ? kRecords % kBlock : kBlock;
          EXPECT_TRUE(seen.insert(block).second) << "block " << block << " came before";
        }
        --left;
        ASSERT_LE(window.size(), static_cast<size_t>(kBlocks));
      } while (position < all.size() && (left > 0 || window.size() < static_cast<size_t>(kBlocks)));
      EXPECT_EQ(left, 0);
    }
    EXPECT_EQ(seen.size(), 101U);
  }
}

TEST(WindowedOrder, HandlesHugeSizesWithoutMemory) {
  const int64_t n = (int64_t{1} << 60) + 12345;
  WindowedOrder order(n, 64, 64, 3);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 10000; ++i) {
    const int64_t record = order(n / 10000 * i);
    ASSERT_GE(record, 0);
    ASSERT_LT(record, n);
    seen.insert(record);
  }
  EXPECT_EQ(seen.size(), 10000U);
  // One window for everything is a full shuffle.
  WindowedOrder one(n, n, int64_t{1} << 62, 3);
  EXPECT_LT(one(n - 1), n);
}

// The figure in sampler.h.
TEST(WindowedOrder, MixesClassesAsDocumented) {
  struct Case {
    int64_t num_classes;
    int64_t class_records;
    int64_t window_block;
    int64_t window_blocks;
  };
  for (const Case& c : {Case{1024, 64, 64, 4}, Case{1024, 64, 64, 64}, Case{1024, 128, 64, 64},
                        Case{100, 256, 16, 16}, Case{10, 1024, 8, 32}}) {
    const int64_t n = c.num_classes * c.class_records;
    double same = 0;
    double pairs = 0;
    constexpr int kNumKeys = 20;
    for (uint64_t key = 0; key < kNumKeys; ++key) {
      WindowedOrder order(n, c.window_block, c.window_blocks, key);
      int64_t last = -1;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t label = order(i) / c.class_records;
        same += label == last ? 1 : 0;
        last = label;
      }
      pairs += static_cast<double>(n - 1);
    }
    const double w = 1 / static_cast<double>(c.window_blocks);
    const double documented = w + (1 - w) / static_cast<double>(c.num_classes);
    // Exactly: two records of a window lie in one block, or in two of the class's.
    const auto window_records = static_cast<double>(c.window_block * c.window_blocks);
    const double one_block = static_cast<double>(c.window_block - 1) / (window_records - 1);
    const auto class_blocks = static_cast<double>(c.class_records / c.window_block);
    const double two_blocks =
        (class_blocks - 1) / (class_blocks * static_cast<double>(c.num_classes) - 1);
    const double expected = one_block + (1 - one_block) * two_blocks;
    const auto where = ::testing::Message()
                       << c.num_classes << " classes, " << c.window_blocks << " blocks a window";
    EXPECT_NEAR(same / pairs / expected, 1, 0.02) << where;
    EXPECT_NEAR(expected / documented, 1, 0.08) << where;
  }
}

std::vector<int64_t> sequence(int64_t n, int64_t batch_size, SamplerOptions options,
                              int64_t epoch) {
  std::vector<int64_t> all;
  std::vector<int64_t> batch;
  const int64_t num_steps = Sampler(n, batch_size, options).num_batches();
  for (int64_t step = 0; step < num_steps; ++step) {
    for (int rank = 0; rank < options.world_size; ++rank) {
      SamplerOptions own = options;
      own.rank = rank;
      Sampler(n, batch_size, own).batch(epoch, 0, step, batch);
      all.insert(all.end(), batch.begin(), batch.end());
    }
  }
  return all;
}

TEST(SamplerWindowed, SequenceDoesNotDependOnWorldAndBatchSize) {
  SamplerOptions options{.order = Order::windowed,
                         .tail = Tail::exact,
                         .seed = 4,
                         .windows = {.window_block = 8, .window_blocks = 5}};
  const auto one = sequence(333, 1, options, 2);
  EXPECT_NE(one, sequence(333, 1, options, 3)) << "epochs have orders of their own";
  for (int world_size : {2, 3}) {
    options.world_size = world_size;
    for (int64_t batch_size : {1, 9, 64}) {
      EXPECT_EQ(sequence(333, batch_size, options, 2), one);
    }
  }
}

TEST(SamplerWindowed, IsTheSameInEveryRelease) {
  const SamplerOptions options{
      .order = Order::windowed, .seed = 42, .windows = {.window_block = 16, .window_blocks = 8}};
  std::vector<int64_t> batch;
  Sampler(1000, 6, options).batch(1, 0, 50, batch);
  EXPECT_EQ(batch, (std::vector<int64_t>{189, 613, 639, 635, 8, 859}));
}

TEST(SamplerWindowed, RefusesEmptyWindows) {
  EXPECT_ERROR(Sampler(5, 1, {.windows = {.window_block = 0}}), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.windows = {.window_blocks = 0}}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
