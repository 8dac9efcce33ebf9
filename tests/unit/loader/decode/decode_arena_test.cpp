#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "decode/decode_pool.h"
#include "test_prelude.h"
#include "threads/threads.h"

namespace ffkit {
namespace {

using testing::expect;

std::vector<SampleChunk> chunks_from(int32_t first, int32_t count) {
  std::vector<SampleChunk> chunks;
  for (int32_t i = 0; i < count; ++i) chunks.push_back({nullptr, 1, {first + i}});
  return chunks;
}

// How many threads are at work at the same time.
class Occupancy {
 public:
  void enter() {
    const int now = ++num_inside_;
    int before = most_;
    while (before < now && !most_.compare_exchange_weak(before, now)) continue;
  }
  void leave() { --num_inside_; }
  int most() const { return most_; }

 private:
  std::atomic<int> num_inside_{0};
  std::atomic<int> most_{0};
};

// How many threads are at work for two pools of `num_threads`.
int most_of_two_pools(int num_threads) {
  constexpr int32_t kNumChunks = 100;
  Occupancy occupancy;
  std::latch all_done(2 * kNumChunks);
  const auto work = [&](int, Helpers&, const SampleChunk&) {
    occupancy.enter();
    while (occupancy.most() < num_threads) std::this_thread::yield();  // they are to meet once
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    occupancy.leave();
    all_done.count_down();
  };
  DecodePool first(num_threads, kNumChunks, work);
  DecodePool second(num_threads, kNumChunks, work);
  first.submit(chunks_from(0, kNumChunks));
  second.submit(chunks_from(0, kNumChunks));
  all_done.wait();
  return occupancy.most();
}

TEST(DecodeArena, PoolsThatWorkAtOnceShareTheThreads) {
  EXPECT_EQ(most_of_two_pools(2), 2);
}

TEST(DecodeArena, IsAsLargeAsTheLargestPoolThatIsThere) {
  {
    std::latch all_at_work(4);
    DecodePool larger(4, 10,
                      [&](int, Helpers&, const SampleChunk&) { all_at_work.arrive_and_wait(); });
    larger.submit(chunks_from(0, 4));
    all_at_work.wait();
  }
  EXPECT_EQ(most_of_two_pools(1), 1);
}

// Has work, or not; does none.
struct IdleClient final : DecodeArena::Client {
  bool has_work() const override { return has; }
  void work(std::unique_lock<std::mutex>&) override {}
  bool has = false;
};

TEST(DecodeArena, KnowsWhetherAnotherClientHasWork) {
  DecodeArena& arena = DecodeArena::of_process();
  IdleClient one, other;
  arena.add(one, 1);
  arena.add(other, 1);
  {
    const std::lock_guard lock(arena.mutex());
    EXPECT_FALSE(arena.others_have_work(one));
    one.has = true;
    EXPECT_FALSE(arena.others_have_work(one));
    EXPECT_TRUE(arena.others_have_work(other));
    one.has = false;
  }
  arena.remove(one);
  arena.remove(other);
}

// One thread for both, and the first pool's queue is never empty.
TEST(DecodeArena, BusyPoolLetsTheOtherOneWork) {
  std::atomic<bool> other_has_worked = false;
  Event done;
  DecodePool* own = nullptr;
  DecodePool busy(1, 10, [&](int, Helpers&, const SampleChunk&) {
    if (other_has_worked) return done.notify();
    own->submit(chunks_from(0, 1));
  });
  own = &busy;
  DecodePool other(1, 10, [&](int, Helpers&, const SampleChunk&) { other_has_worked = true; });
  busy.submit(chunks_from(0, 1));
  other.submit(chunks_from(0, 1));
  done.wait();
}

TEST(DecodeArena, GrowsForTheLargerPoolOnly) {
  constexpr int32_t kNumChunks = 40;
  Occupancy of_small;
  std::latch small_done(kNumChunks);
  DecodePool small(1, kNumChunks, [&](int worker, Helpers&, const SampleChunk&) {
    EXPECT_EQ(worker, 0);
    of_small.enter();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    of_small.leave();
    small_done.count_down();
  });
  // Each of them waits for the others.
  std::latch all_at_work(5);
  DecodePool large(5, 10,
                   [&](int, Helpers&, const SampleChunk&) { all_at_work.arrive_and_wait(); });
  large.submit(chunks_from(0, 5));
  all_at_work.wait();
  small.submit(chunks_from(0, kNumChunks));
  small_done.wait();
  EXPECT_EQ(of_small.most(), 1);
}

// A process of its own, whose TBB has no threads yet.
class FreshDecodeArena : public ::testing::Test {
 protected:
  FreshDecodeArena() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FreshDecodeArena, DecodesOnTbbsThreads) {
  const auto child = [] {
    constexpr int kNoThreadOfTbb = tbb::task_arena::not_initialized;
    std::atomic<int> index = kNoThreadOfTbb;
    Event done;
    DecodePool pool(2, 10, [&](int, Helpers&, const SampleChunk&) {
      index = tbb::this_task_arena::current_thread_index();
      done.notify();
    });
    pool.submit(chunks_from(0, 1));
    done.wait();
    expect(index != kNoThreadOfTbb, "it is TBB's");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

void expect_threads_go_back() {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  DecodeArena& arena = DecodeArena::of_process();
  while (arena.num_running() > 0 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_EQ(arena.num_running(), 0);
}

TEST(DecodeArena, ThreadsGoBackToTbbWhenThereIsNothingToDo) {
  std::latch done(8);
  DecodePool pool(2, 10, [&](int, Helpers&, const SampleChunk&) { done.count_down(); });
  pool.submit(chunks_from(0, 8));
  done.wait();
  expect_threads_go_back();
}

// Whether there are others or not.
TEST(DecodeArena, ThreadsGoBackToTbbWhenTheReaderEnds) {
  std::optional<DecodePool> other;
  for (int i = 0; i < 2; ++i) {
    {
      Event done;
      DecodePool pool(2, 10, [&](int, Helpers&, const SampleChunk&) { done.notify(); });
      pool.set_reading(true);
      pool.submit(chunks_from(0, 1));
      done.wait();
    }
    expect_threads_go_back();
    other.emplace(1, 10, [](int, Helpers&, const SampleChunk&) {});
  }
}

// Its reads will bring no samples any more.
TEST(DecodeArena, ThreadsGoBackToTbbWhenTheReaderIsGivenUp) {
  Event go_on;
  Event begun;
  DecodePool pool(2, 10, [&](int, Helpers&, const SampleChunk&) {
    begun.notify();
    go_on.wait();
  });
  pool.set_reading(true);
  pool.submit(chunks_from(0, 1));
  begun.wait();
  pool.give_up();
  go_on.notify();
  expect_threads_go_back();
}

TEST(DecodeArena, ThreadsThatHangAreReplaced) {
  Event go_on;
  std::latch is_stuck(1);
  auto hanging = std::make_unique<DecodePool>(1, 10, [&](int, Helpers&, const SampleChunk&) {
    is_stuck.count_down();
    go_on.wait();
  });
  hanging->submit(chunks_from(0, 1));
  is_stuck.wait();
  DecodePool earlier(1, 10, [](int, Helpers&, const SampleChunk&) {});
  hanging->give_up();
  Event done;
  DecodePool later(1, 10, [&](int, Helpers&, const SampleChunk&) { done.notify(); });
  later.submit(chunks_from(0, 1));
  done.wait();
  go_on.notify();
}

TEST_F(FreshDecodeArena, WakesNoMoreThreadsThanThePoolMayUse) {
  const auto child = [] {
    DecodeArena& arena = DecodeArena::of_process();
    const DecodePool large(4, 10, [](int, Helpers&, const SampleChunk&) {});
    int most = 0;
    Event done;
    DecodePool small(1, 10, [&](int worker, Helpers& helpers, const SampleChunk& chunk) {
      helpers.share(worker, 3, [&](int, int64_t) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
        while (std::chrono::steady_clock::now() < end) {
          most = std::max(most, arena.num_running());
          std::this_thread::sleep_for(std::chrono::microseconds(100));  // others need the mutex
        }
      });
      if (chunk.indices_in_batch[0] == 2) done.notify();
    });
    while (arena.num_running() > 0) std::this_thread::yield();
    small.submit(chunks_from(0, 3));
    done.wait();
    expect(most == 1, std::to_string(most) + " threads are awake");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

// The first pool's work waits for the second's, which comes while the thread for the first is on
// its way.
TEST(DecodeArena, WorkDoesNotWaitForAnotherPoolsThatHangs) {
  DecodeArena& arena = DecodeArena::of_process();
  for (int i = 0; i < 20; ++i) {
    Event second_done;
    Event first_done;
    DecodePool first(2, 10, [&](int, Helpers&, const SampleChunk&) {
      second_done.wait();
      first_done.notify();
    });
    DecodePool second(2, 10, [&](int, Helpers&, const SampleChunk&) { second_done.notify(); });
    while (arena.num_running() > 0) std::this_thread::yield();
    first.submit(chunks_from(0, 1));
    second.submit(chunks_from(0, 1));
    first_done.wait();
  }
}

// Each pool's work waits for the other's, and one thread waits for both.
TEST(DecodeArena, WorkDoesNotWaitForAThreadThatIsOnItsWayToAnother) {
  for (int i = 0; i < 20; ++i) {
    expect_threads_go_back();
    Event done;
    DecodePool reading(2, 10, [&](int, Helpers&, const SampleChunk&) { done.notify(); });
    reading.set_reading(true);
    std::latch both_at_work(2);
    std::latch both_done(2);
    const auto meet = [&](int, Helpers&, const SampleChunk&) {
      both_at_work.arrive_and_wait();
      both_done.count_down();
    };
    DecodePool first(2, 10, meet);
    DecodePool second(2, 10, meet);
    reading.submit(chunks_from(0, 1));
    done.wait();
    first.submit(chunks_from(0, 1));
    second.submit(chunks_from(0, 1));
    both_done.wait();
  }
}

// What else runs in the process has as many threads of TBB's as before.
TEST_F(FreshDecodeArena, LeavesTbbsLimitAsItWas) {
  const auto child = [] {
    const auto limit = [] {
      return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    };
    const size_t before = limit();
    for (int i = 0; i < 2; ++i) {
      const auto wanted = before + 2;
      const DecodePool pool(static_cast<int>(wanted), 10, [](int, Helpers&, const SampleChunk&) {});
      expect(limit() > wanted, "the pool's threads and one more");
    }
    expect(limit() == before, "none of them is needed any more");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

// As a TBB program may read its batches.
TEST(DecodeArena, TasksMayWaitForItOnAllOfTbbsThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "TSan does not see how TBB hands the tasks of a parallel_for() from thread to thread";
#endif
  const int num_tasks = tbb::this_task_arena::max_concurrency();
  std::latch all_wait(num_tasks);
  std::vector<Event> done(static_cast<size_t>(num_tasks));
  DecodePool pool(1, 100, [&](int, Helpers&, const SampleChunk& chunk) {
    done[static_cast<size_t>(chunk.indices_in_batch[0])].notify();
  });
  tbb::parallel_for(
      0, num_tasks,
      [&](int i) {
        all_wait.arrive_and_wait();
        pool.submit(chunks_from(i, 1));
        done[static_cast<size_t>(i)].wait();
      },
      tbb::simple_partitioner());
}

int64_t num_threads_of_process() {
  using Folder = std::filesystem::directory_iterator;
  return std::distance(Folder("/proc/self/task"), Folder());
}

// Another part of the process allows TBB one thread, and a child of fork() has none of TBB's.
TEST(DecodeArena, WorksOnThreadsOfItsOwnWhereTbbGivesNone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "TSan lets a child of fork() start no threads";
#endif
  const auto child = [] {
    alarm(300);  // for what hangs
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    for (int i = 0; i < 2; ++i) {
      std::latch all_at_work(3);
      DecodePool pool(3, 10,
                      [&](int, Helpers&, const SampleChunk&) { all_at_work.arrive_and_wait(); });
      pool.submit(chunks_from(0, 3));
      all_at_work.wait();
    }
    const auto grandchild = fork();
    if (grandchild == 0) {
      for (int i = 0; i < 2; ++i) {
        Event done;
        const auto pool = std::make_unique<DecodePool>(
            1, 10, [&](int, Helpers&, const SampleChunk&) { done.notify(); });
        pool->submit(chunks_from(0, 1));
        done.wait();
      }
      expect(num_threads_of_process() == 1, "its threads end with the last pool");
      _exit(0);
    }
    int status = 1;
    expect(waitpid(grandchild, &status, 0) == grandchild && status == 0, "the grandchild's works");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ffkit
