#include "decode/decode_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "threads/event.h"

namespace ffkit {
namespace {

std::vector<SampleChunk> make_chunks(int32_t count) {
  std::vector<SampleChunk> chunks;
  for (int32_t i = 0; i < count; ++i) chunks.push_back({nullptr, 1, {i}});
  return chunks;
}

TEST(DecodePool, RunsEveryChunkOnceOnSlotsOfItsOwn) {
  constexpr int kNumThreads = 3;
  std::atomic<int> in_slot[kNumThreads] = {};
  std::mutex mutex;
  std::multiset<int64_t> done;
  Event all_done;
  DecodePool pool(kNumThreads, 1000, [&](int slot, const SampleChunk& chunk) {
    ASSERT_GE(slot, 0);
    ASSERT_LT(slot, kNumThreads);
    EXPECT_EQ(in_slot[slot]++, 0) << "two threads in one slot";
    --in_slot[slot];
    std::lock_guard lock(mutex);
    done.insert(chunk.positions[0]);
    if (done.size() == 1000) all_done.notify();
  });
  pool.submit(make_chunks(1000));
  all_done.wait();
  std::lock_guard lock(mutex);
  EXPECT_EQ(std::set<int64_t>(done.begin(), done.end()).size(), 1000U);
}

// Both must be at work at the same time, or neither goes on: also on a machine of one core.
TEST(DecodePool, ReallyRunsAsManyThreadsAsAsked) {
  constexpr int kNumThreads = 4;
  std::mutex mutex;
  std::condition_variable arrived;
  int num_arrived = 0;
  Event all_arrived;
  DecodePool pool(kNumThreads, 10, [&](int, const SampleChunk&) {
    std::unique_lock lock(mutex);
    if (++num_arrived == kNumThreads) all_arrived.notify();
    arrived.notify_all();
    arrived.wait(lock, [&] { return num_arrived == kNumThreads; });
  });
  pool.submit(make_chunks(kNumThreads));
  all_arrived.wait();
}

TEST(DecodePool, CancelDropsWhatHasNotBegunAndWaitsForTheRest) {
  constexpr int32_t kLast = 1000;
  Event begun;
  Event go_on;
  Event last;
  std::atomic<int> num_done = 0;
  DecodePool pool(1, 200, [&](int, const SampleChunk& chunk) {
    if (chunk.positions[0] == 0) {
      begun.notify();
      go_on.wait();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 200 of them: a second
    ++num_done;
    if (chunk.positions[0] == kLast) last.notify();
  });
  pool.submit(make_chunks(200));
  begun.wait();
  EXPECT_FALSE(pool.cancel(std::chrono::steady_clock::now())) << "one is being worked on";
  pool.submit(make_chunks(199));
  const auto later = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::thread canceller([&] { EXPECT_TRUE(pool.cancel(later)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on.notify();
  canceller.join();
  const int after_cancel = num_done;
  EXPECT_GE(after_cancel, 1);
  EXPECT_LT(after_cancel, 200);
  const SampleChunk chunk{nullptr, 1, {kLast}};
  pool.submit({&chunk, 1});
  last.wait();
  EXPECT_EQ(num_done, after_cancel + 1) << "something that was dropped ran after all";
}

// Each part waits for the others: one thread alone would never end.
TEST(DecodePool, IdleThreadsHelpWithTheParts) {
  constexpr int kNumThreads = 3;
  std::latch all_begun(kNumThreads);
  std::mutex mutex;
  std::set<int> slots;
  std::multiset<int64_t> parts;
  Event done;
  DecodePool* own = nullptr;
  DecodePool pool(kNumThreads, 10, [&](int slot, const SampleChunk&) {
    own->share(slot, kNumThreads, [&](int part_slot, int64_t index) {
      all_begun.arrive_and_wait();
      std::lock_guard lock(mutex);
      slots.insert(part_slot);
      parts.insert(index);
    });
    done.notify();
  });
  own = &pool;
  pool.submit(make_chunks(1));
  done.wait();
  EXPECT_EQ(slots.size(), 3U);
  EXPECT_EQ(parts, (std::multiset<int64_t>{0, 1, 2}));
}

TEST(DecodePool, PartsAreDoneOnceWhenAllThreadsShare) {
  for (const int num_threads : {1, 2, 4}) {
    constexpr int32_t kNumChunks = 300;
    constexpr int64_t kNumParts = 7;
    std::vector<std::atomic<int>> counts(size_t{kNumChunks} * kNumParts);
    std::atomic<int> num_done = 0;
    Event all_done;
    DecodePool* own = nullptr;
    DecodePool pool(num_threads, kNumChunks, [&](int slot, const SampleChunk& chunk) {
      const auto first = size_t(chunk.positions[0]) * kNumParts;
      own->share(slot, kNumParts, [&](int, int64_t index) { ++counts[first + size_t(index)]; });
      for (int64_t i = 0; i < kNumParts; ++i) EXPECT_EQ(counts[first + size_t(i)], 1);
      own->share(slot, 0, [](int, int64_t) { ADD_FAILURE() << "there is no part"; });
      if (++num_done == kNumChunks) all_done.notify();
    });
    own = &pool;
    pool.submit(make_chunks(kNumChunks));
    all_done.wait();
  }
}

}  // namespace
}  // namespace ffkit
