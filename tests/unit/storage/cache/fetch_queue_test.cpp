#include "cache/fetch_queue.h"

#include <condition_variable>

#include "cache/block_run.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using Turn = FetchQueue::Turn;

// What has begun, in its order.
class Begun {
 public:
  void add(int number) {
    const std::scoped_lock lock(mutex_);
    numbers_.push_back(number);
    changed_.notify_all();
  }
  // Waits for so many.
  std::vector<int> numbers(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(100), [&] { return numbers_.size() >= count; });
    return numbers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> numbers_;
};

TEST(FetchQueueTest, WhatWaitsBeginsOnce) {
  Begun begun;
  CacheThreads threads;
  FetchQueue queue(threads, 2);
  EXPECT_TRUE(queue.begin());
  EXPECT_EQ(queue.begin_or_wait([] {}), Turn::now);
  EXPECT_FALSE(queue.begin());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(queue.begin_or_wait([&, i] { begun.add(i); }), Turn::later);
  }
  // Two end before one of the threads runs. Each makes room for one, and more room for another.
  queue.end(/*has_come=*/true);
  queue.end(/*has_come=*/true);
  EXPECT_EQ(begun.numbers(4).size(), 4);
  EXPECT_FALSE(queue.begin());  // what was posted has begun, whether or not it ran
  for (int i = 0; i < 96; ++i) queue.end(/*has_come=*/false);
  std::vector<int> numbers = begun.numbers(100);
  ASSERT_EQ(numbers.size(), 100);
  std::ranges::sort(numbers);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(numbers[static_cast<size_t>(i)], i);
}

TEST(FetchQueueTest, WhatWaitsBeginsInItsOrder) {
  Begun begun;
  CacheThreads threads;
  FetchQueue queue(threads, 1);
  EXPECT_EQ(queue.begin_or_wait([] {}), Turn::now);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(queue.begin_or_wait([&, i] {
      begun.add(i);
      queue.end(/*has_come=*/false);
    }),
              Turn::later);
  }
  queue.end(/*has_come=*/false);
  const std::vector<int> numbers = begun.numbers(20);
  ASSERT_EQ(numbers.size(), 20);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(numbers[static_cast<size_t>(i)], i);
}

TEST(FetchQueueTest, TooManyDoNotWait) {
  CacheThreads threads;
  FetchQueue queue(threads, 1);
  EXPECT_TRUE(queue.begin());
  int num_waiting = 0;
  while (queue.begin_or_wait([] {}) == Turn::later) ++num_waiting;
  EXPECT_EQ(num_waiting, 4096);
}

TEST(BlockMemoryTest, WhatIsGivenBackServesAgain) {
  const BlockMemory memory(1 << 20, 2);
  std::vector<std::shared_ptr<std::byte[]>> taken = {memory.take(), memory.take(), memory.take()};
  std::set<const std::byte*> addresses;
  for (const auto& bytes : taken) {
    std::fill_n(bytes.get(), 1 << 20, std::byte{1});
    addresses.insert(bytes.get());
  }
  EXPECT_EQ(addresses.size(), 3U);
  taken.clear();  // two are kept
  const auto one = memory.take();
  const auto other = memory.take();
  EXPECT_TRUE(addresses.contains(one.get()));
  EXPECT_TRUE(addresses.contains(other.get()));
  EXPECT_NE(one.get(), other.get());
}

TEST(BlockMemoryTest, MemoryMayOutliveIt) {
  std::shared_ptr<std::byte[]> bytes;
  {
    const BlockMemory memory(16, 1);
    bytes = memory.take();
  }
  bytes[15] = std::byte{1};
}

}  // namespace
}  // namespace ffkit
