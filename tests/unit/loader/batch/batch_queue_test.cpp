#include "batch/batch_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <exception>

#include <ffkit/format/error.h>

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
  EXPECT_ERROR(queue.take_front(), io, "the ring is broken");
}

}  // namespace
}  // namespace ffkit
