// Batches and loaders that hold nothing: errors, no crashes.
#include "batch/batch_queue.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

LoaderOptions batch_options() {
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 1;
  options.image.transform = RandomResizedCrop{.size = 8};
  return options;
}

void expect_empty(const Batch& batch) {
  EXPECT_EQ(batch.size(), 0);
  EXPECT_EQ(batch.num_fields(), 0U);
  EXPECT_EQ(batch.epoch(), 0);
  EXPECT_EQ(batch.step(), 0);
  EXPECT_EQ(batch.mix_lambda(), 1);
  EXPECT_EQ(batch.images(), nullptr);
  EXPECT_TRUE(batch.labels().empty());
  EXPECT_TRUE(batch.record_indices().empty());
  EXPECT_TRUE(batch.replacements().empty());
  EXPECT_EQ(batch.shape(), (std::array<int64_t, 4>{}));
  EXPECT_ERROR(batch.field(0), invalid_argument);
  EXPECT_ERROR(batch.field_name(0), invalid_argument);
  EXPECT_ERROR(batch.field("image"), not_found, .subject = field);
  EXPECT_ERROR(batch.row_offsets("image"), not_found, .subject = field);
}

TEST(Batch, WithoutSamplesHasNoFields) {
  expect_empty(Batch());
}

TEST(Batch, MovedFromIsEmpty) {
  const testing::TempDir dir;
  Loader loader(testing::make_dataset(dir / "train"), batch_options());
  Batch batch = std::move(*loader.next());
  EXPECT_ERROR(batch.field(2), invalid_argument);
  EXPECT_ERROR(batch.field_name(2), invalid_argument);
  const Batch other = std::move(batch);
  expect_empty(batch);  // NOLINT(bugprone-use-after-move): that is the subject
  EXPECT_EQ(other.size(), 4);
}

TEST(MovedLoader, SaysSo) {
  const testing::TempDir dir;
  Loader loader(testing::make_dataset(dir / "train"), batch_options());
  ASSERT_TRUE(loader.next().has_value());
  Loader other = std::move(loader);
  // NOLINTBEGIN(bugprone-use-after-move): that is the subject
  EXPECT_ERROR(loader.next(), invalid_argument);
  EXPECT_ERROR(loader.ready(), invalid_argument);
  EXPECT_ERROR(loader.set_epoch(0), invalid_argument);
  EXPECT_ERROR(loader.restore({}), invalid_argument);
  EXPECT_ERROR(loader.state(), invalid_argument);
  EXPECT_ERROR(loader.num_batches(), invalid_argument);
  EXPECT_ERROR(loader.dataset(), invalid_argument);
  EXPECT_ERROR(loader.options(), invalid_argument);
  EXPECT_ERROR(loader.statistics(), invalid_argument);
  EXPECT_ERROR(loader.memory_bound(), invalid_argument);
  EXPECT_EQ(other.next()->step(), 1);
  loader = std::move(other);
  EXPECT_EQ(loader.next()->step(), 2);
  // NOLINTEND(bugprone-use-after-move)
}

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
