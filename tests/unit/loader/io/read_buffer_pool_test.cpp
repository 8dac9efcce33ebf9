#include <deque>

#include "io/read_plan.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

constexpr size_t kCapacity = 64 << 10;

TEST(ReadBufferPool, BlocksAreAlignedAndApart) {
  ReadBufferPool pool(kCapacity, 100, 512);
  auto* a = pool.acquire(100, 1);
  auto* b = pool.acquire(600, 1);
  auto* c = pool.acquire(1, 1);
  for (auto* block : {a, b, c}) EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data) % 512, 0U);
  EXPECT_GE(b->data, a->data + 512);
  EXPECT_GE(c->data, b->data + 1024);
}

TEST(ReadBufferPool, RefusesWhatDoesNotFitUntilThereIsRoom) {
  ReadBufferPool pool(kCapacity, 100, 4096);
  auto* a = pool.acquire(kCapacity / 2, 1);
  auto* b = pool.acquire(kCapacity / 2, 1);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(pool.acquire(1, 1), nullptr);
  EXPECT_TRUE(pool.release(a));
  EXPECT_NE(pool.acquire(kCapacity / 2, 1), nullptr);
  EXPECT_FALSE(pool.release(b)) << "nobody was refused since";
}

TEST(ReadBufferPool, HasNoMoreBlocksThanItWasMadeFor) {
  ReadBufferPool pool(kCapacity, 2, 512);
  auto* a = pool.acquire(1, 1);
  ASSERT_NE(pool.acquire(1, 1), nullptr);
  EXPECT_EQ(pool.acquire(1, 1), nullptr);
  pool.release(a);
  EXPECT_NE(pool.acquire(1, 1), nullptr);
}

TEST(ReadBufferPool, BlockIsFreeAfterItsLastUser) {
  ReadBufferPool pool(kCapacity, 100, 4096);
  auto* a = pool.acquire(kCapacity, 3);
  EXPECT_EQ(pool.acquire(1, 1), nullptr);
  EXPECT_FALSE(pool.release(a));
  EXPECT_FALSE(pool.release(a));
  EXPECT_TRUE(pool.release(a));
}

TEST(ReadBufferPool, NewerBlocksWaitForTheOldest) {
  ReadBufferPool pool(kCapacity, 100, 4096);
  auto* a = pool.acquire(kCapacity / 2, 1);
  auto* b = pool.acquire(kCapacity / 2, 1);
  EXPECT_EQ(pool.acquire(4096, 1), nullptr);
  EXPECT_FALSE(pool.release(b));
  EXPECT_TRUE(pool.release(a));
  EXPECT_NE(pool.acquire(kCapacity, 1), nullptr);
}

TEST(ReadBufferPool, WakesTheReaderOnlyWhenAGoodPartIsFree) {
  ReadBufferPool pool(kCapacity, 100, 4096);
  std::deque<ReadBufferPool::Buffer*> blocks;
  while (auto* block = pool.acquire(4096, 1)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), kCapacity / 4096);
  int num_released = 0;
  bool woken = false;
  while (!woken) {
    woken = pool.release(blocks.front());
    blocks.pop_front();
    ++num_released;
  }
  EXPECT_EQ(num_released, 4);
}

TEST(ReadBufferPool, LargerThanTheRingComesAlone) {
  ReadBufferPool pool(kCapacity, 100, 4096);
  auto* small = pool.acquire(100, 1);
  EXPECT_EQ(pool.acquire(3 * kCapacity, 1), nullptr);
  EXPECT_TRUE(pool.release(small));
  auto* large = pool.acquire(3 * kCapacity, 1);
  ASSERT_NE(large, nullptr);
  std::memset(large->data, 1, 3 * kCapacity);
  EXPECT_EQ(pool.acquire(1, 1), nullptr);
  EXPECT_TRUE(pool.release(large));
  EXPECT_NE(pool.acquire(1, 1), nullptr);
}

TEST(ReadBufferPool, ResetFreesEverything) {
  ReadBufferPool pool(kCapacity, 100, 4096);
  pool.acquire(1000, 2);
  pool.acquire(5000, 1);
  pool.reset();
  EXPECT_NE(pool.acquire(kCapacity, 1), nullptr);
  pool.reset();
  EXPECT_NE(pool.acquire(2 * kCapacity, 1), nullptr);
}  // ... and so does destruction, says LeakSanitizer

// Blocks of all sizes around the ring's end, freed out of order: none overlaps another that is in
// use.
TEST(ReadBufferPool, BlocksInUseNeverOverlap) {
  ReadBufferPool pool(kCapacity, 1000, 64);
  std::deque<std::pair<ReadBufferPool::Buffer*, uint8_t>> used;
  uint32_t state = 1;
  const auto random = [&](uint32_t n) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % n;
  };
  const auto check_and_release = [&](size_t i) {
    const auto [block, mark] = used[i];
    for (size_t k = 0; k < block->num_bytes; ++k) {
      ASSERT_EQ(static_cast<uint8_t>(block->data[k]), mark);
    }
    pool.release(block);
    used.erase(used.begin() + static_cast<ptrdiff_t>(i));
  };
  int num_acquired = 0;
  for (int i = 0; i < 20000; ++i) {
    if (auto* block = pool.acquire(1 + random(9000), 1)) {
      const auto mark = static_cast<uint8_t>(random(256));
      std::memset(block->data, mark, block->num_bytes);
      used.emplace_back(block, mark);
      ++num_acquired;
    } else {
      ASSERT_FALSE(used.empty());
      check_and_release(random(static_cast<uint32_t>(std::min<size_t>(used.size(), 4))));
    }
  }
  EXPECT_GT(num_acquired, 5000);
}

}  // namespace
}  // namespace ffkit
