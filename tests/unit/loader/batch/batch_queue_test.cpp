#include "batch/batch_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <ffkit/base/error.h>

#include "expect_error.h"

namespace ffkit {
namespace {

// The I/O thread has ended by an error: whoever waits for a batch is told.
TEST(BatchQueue, FailureOfTheIoThreadEndsTheWait) {
  BatchQueue queue(2, 4);
  EXPECT_FALSE(queue.wait_for_front(std::chrono::nanoseconds(0)));
  queue.open();
  EXPECT_FALSE(queue.wait_for_front(std::chrono::nanoseconds(0)));
  queue.fail(std::make_exception_ptr(Error(ErrorCode::io, "the ring is broken")));
  ASSERT_TRUE(queue.wait_for_front(std::chrono::nanoseconds(0)));
  EXPECT_TRUE(queue.front_is_complete());
  EXPECT_ERROR(queue.take_front(), io);
}

// The state of a thread of this process: 'S' while it waits (proc(5)).
char state_of(pid_t thread) {
  std::ifstream stat(fmt::format("/proc/self/task/{}/stat", thread));
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  return text.at(text.rfind(')') + 2);
}

TEST(BatchQueue, FailureOfTheIoThreadWakesWhoWaits) {
  BatchQueue queue(2, 4);
  queue.open();
  std::atomic<pid_t> waiting{0};
  std::thread consumer([&] {
    waiting = gettid();
    EXPECT_ERROR(queue.take_front(), io);
  });
  while (waiting == 0 || state_of(waiting) != 'S') std::this_thread::yield();
  queue.fail(std::make_exception_ptr(Error(ErrorCode::io, "the ring is broken")));
  consumer.join();  // never, if it is not woken
}

}  // namespace
}  // namespace ffkit
