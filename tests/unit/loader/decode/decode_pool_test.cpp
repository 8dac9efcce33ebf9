#include "decode/decode_pool.h"

#include <condition_variable>

#include "test_prelude.h"
#include "threads/threads.h"

namespace ffkit {
namespace {

std::vector<SampleChunk> make_chunks(int32_t count) {
  std::vector<SampleChunk> chunks;
  for (int32_t i = 0; i < count; ++i) chunks.push_back({nullptr, 1, {i}});
  return chunks;
}

TEST(DecodePool, RunsEveryChunkOnceByAWorkerOfItsOwn) {
  constexpr int kNumThreads = 3;
  std::atomic<int> of_worker[kNumThreads] = {};
  std::mutex mutex;
  std::multiset<int64_t> done;
  Event all_done;
  DecodePool pool(kNumThreads, 1000, [&](int worker, Helpers&, const SampleChunk& chunk) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, kNumThreads);
    EXPECT_EQ(of_worker[worker]++, 0) << "two threads are one worker";
    --of_worker[worker];
    std::lock_guard lock(mutex);
    done.insert(chunk.indices_in_batch[0]);
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
  DecodePool pool(kNumThreads, 10, [&](int, Helpers&, const SampleChunk&) {
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
  DecodePool pool(1, 200, [&](int, Helpers&, const SampleChunk& chunk) {
    if (chunk.indices_in_batch[0] == 0) {
      begun.notify();
      go_on.wait();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 200 of them: a second
    ++num_done;
    if (chunk.indices_in_batch[0] == kLast) last.notify();
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

TEST(DecodePool, DestructionDropsWhatHasNotBegunAndWaitsForTheRest) {
  std::latch begun(1);
  std::latch go_on(1);
  std::atomic<int> num_done = 0;
  std::optional<DecodePool> pool;
  pool.emplace(1, 200, [&](int, Helpers&, const SampleChunk& chunk) {
    if (chunk.indices_in_batch[0] == 0) begun.count_down();
    go_on.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 200 of them: a second
    ++num_done;
  });
  pool->submit(make_chunks(200));
  begun.wait();
  std::thread destroyer([&] { pool.reset(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(num_done, 0);
  go_on.count_down();
  destroyer.join();
  EXPECT_GE(num_done, 1);
  EXPECT_LT(num_done, 200);
}

TEST(DecodePool, GivingUpDropsWhatHasNotBegun) {
  std::latch begun(1);
  std::latch go_on(1);
  std::atomic<int> num_done = 0;
  DecodePool pool(1, 10, [&](int, Helpers&, const SampleChunk& chunk) {
    if (chunk.indices_in_batch[0] == 0) begun.count_down();
    go_on.wait();
    ++num_done;
  });
  pool.submit(make_chunks(10));
  begun.wait();
  pool.give_up();
  go_on.count_down();
  while (num_done == 0 || DecodeArena::of_process().num_running() > 0) std::this_thread::yield();
  EXPECT_EQ(num_done, 1);
}

// Each piece waits for the others: one thread alone would never end.
TEST(DecodePool, IdleThreadsHelpWithThePieces) {
  constexpr int kNumThreads = 3;
  std::latch all_begun(kNumThreads);
  std::mutex mutex;
  std::set<int> workers;
  std::multiset<int64_t> pieces;
  Event done;
  DecodePool pool(kNumThreads, 10, [&](int worker, Helpers& helpers, const SampleChunk&) {
    helpers.share(worker, kNumThreads, [&](int piece_worker, int64_t index) {
      all_begun.arrive_and_wait();
      std::lock_guard lock(mutex);
      workers.insert(piece_worker);
      pieces.insert(index);
    });
    done.notify();
  });
  pool.submit(make_chunks(1));
  done.wait();
  EXPECT_EQ(workers.size(), 3U);
  EXPECT_EQ(pieces, (std::multiset<int64_t>{0, 1, 2}));
}

TEST(DecodePool, PiecesAreDoneOnceWhenAllThreadsShare) {
  for (const int num_threads : {1, 2, 4}) {
    constexpr int32_t kNumChunks = 300;
    constexpr int64_t kNumPieces = 7;
    std::vector<std::atomic<int>> counts(size_t{kNumChunks} * kNumPieces);
    std::atomic<int> num_done = 0;
    Event all_done;
    DecodePool pool(
        num_threads, kNumChunks, [&](int worker, Helpers& helpers, const SampleChunk& chunk) {
          const auto first = size_t(chunk.indices_in_batch[0]) * kNumPieces;
          helpers.share(worker, kNumPieces,
                        [&](int, int64_t index) { ++counts[first + size_t(index)]; });
          for (int64_t i = 0; i < kNumPieces; ++i) EXPECT_EQ(counts[first + size_t(i)], 1);
          helpers.share(worker, 0, [](int, int64_t) { ADD_FAILURE() << "there is no piece"; });
          if (++num_done == kNumChunks) all_done.notify();
        });
    pool.submit(make_chunks(kNumChunks));
    all_done.wait();
  }
}

}  // namespace
}  // namespace ffkit
