#include "decode_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "event.h"

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
  std::thread canceller([&] { pool.cancel(); });
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

}  // namespace
}  // namespace ffkit
