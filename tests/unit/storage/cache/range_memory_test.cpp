#include "cache/range_memory.h"

#include "cache/memory_store.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::MemoryObject;
using testing::random_bytes;

constexpr int64_t kMiB = 1 << 20;

class RangeMemoryTest : public ::testing::Test {
 protected:
  // A read that has begun: what it waits for; invalid where that is not there.
  std::future<std::exception_ptr> begin(RangeMemory& memory, int64_t offset,
                                        std::vector<std::byte>& out, const void* object = nullptr) {
    auto answer = std::make_shared<std::promise<std::exception_ptr>>();
    const bool has_begun =
        memory.read(object == nullptr ? &object_ : object, offset, out,
                    [answer](std::exception_ptr error) { answer->set_value(std::move(error)); });
    return has_begun ? answer->get_future() : std::future<std::exception_ptr>();
  }
  // Empty: it is not there.
  std::vector<std::byte> read(RangeMemory& memory, int64_t offset, int64_t num_bytes,
                              const void* object = nullptr) {
    std::vector<std::byte> out(static_cast<size_t>(num_bytes));
    auto answer = begin(memory, offset, out, object);
    if (!answer.valid()) return {};
    if (std::exception_ptr error = answer.get()) std::rethrow_exception(error);
    return out;
  }
  bool is_right(int64_t offset, const std::vector<std::byte>& read) {
    return !read.empty() &&
           std::ranges::equal(
               read, std::span(object_.bytes()).subspan(static_cast<size_t>(offset), read.size()));
  }
  static void wait_for(const std::function<bool()>& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  MemoryObject object_{random_bytes(20 * kMiB, 4)};
  std::latch gate_{1};
};

TEST_F(RangeMemoryTest, FetchesARangeOnceAndDropsItWithItsLastByte) {
  const auto memory = std::make_shared<RangeMemory>();
  const int64_t begin = kMiB + 77;
  memory->announce(&object_, begin, 3 * kMiB, object_.fetch());
  for (int64_t part = 2; part >= 0; --part) {
    EXPECT_EQ(memory->num_bytes(), 3 * kMiB);
    EXPECT_TRUE(is_right(begin + part * kMiB, read(*memory, begin + part * kMiB, kMiB)));
  }
  wait_for([&] { return memory->num_bytes() == 0; });
  EXPECT_EQ(object_.num_fetches(), 1);
  EXPECT_TRUE(read(*memory, begin, 10).empty());
}

TEST_F(RangeMemoryTest, StaysForEachWhoAnnouncedIt) {
  const auto memory = std::make_shared<RangeMemory>();
  for (int i = 0; i < 2; ++i) memory->announce(&object_, 0, 2 * kMiB, object_.fetch());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_right(0, read(*memory, 0, 2 * kMiB)));
  wait_for([&] { return memory->num_bytes() == 0; });
  EXPECT_EQ(object_.num_fetches(), 1);
}

TEST_F(RangeMemoryTest, HasWhatLiesWithinARangeAlone) {
  const auto memory = std::make_shared<RangeMemory>();
  memory->announce(&object_, kMiB, 2 * kMiB, object_.fetch());
  EXPECT_TRUE(read(*memory, kMiB - 1, 10).empty());
  EXPECT_TRUE(read(*memory, 3 * kMiB - 5, 10).empty());
  EXPECT_TRUE(read(*memory, kMiB, 10, this).empty()) << "of another object";
  EXPECT_TRUE(is_right(kMiB, read(*memory, kMiB, 10)));
  memory->announce(&object_, 8 * kMiB, kMiB - 1, object_.fetch());
  EXPECT_FALSE(memory->is_coming(&object_, 8 * kMiB, 10)) << "too little to be worth it";
  EXPECT_EQ(object_.num_fetches(), 1);
}

TEST_F(RangeMemoryTest, WhoComesWhileItIsUnderwayWaits) {
  object_.gate = &gate_;
  const auto memory = std::make_shared<RangeMemory>();
  std::thread announcer([&] { memory->announce(&object_, 0, 2 * kMiB, object_.fetch()); });
  wait_for([&] { return memory->is_coming(&object_, 5, 100); });
  wait_for([&] { return object_.num_fetches() == 1; });
  std::vector<std::byte> out(100);
  auto answer = begin(*memory, 5, out);
  gate_.count_down();
  EXPECT_EQ(answer.get(), nullptr);
  EXPECT_TRUE(is_right(5, out));
  announcer.join();
  EXPECT_FALSE(memory->is_coming(&object_, 5, 100)) << "it is there";
}

TEST_F(RangeMemoryTest, WhatWaitsForItsTurnIsReadAlone) {
  const auto memory = std::make_shared<RangeMemory>(RangeMemory::kMostBytes, 0);
  memory->announce(&object_, 0, 2 * kMiB, object_.fetch());
  EXPECT_TRUE(memory->is_coming(&object_, 0, 10));
  EXPECT_TRUE(read(*memory, 0, 10).empty());
  EXPECT_TRUE(read(*memory, 10, 2 * kMiB - 10).empty());
  EXPECT_EQ(memory->num_bytes(), 0) << "all of it was read alone";
  EXPECT_EQ(object_.num_fetches(), 0);
}

TEST_F(RangeMemoryTest, HoldsNoMoreThanItMay) {
  const auto memory = std::make_shared<RangeMemory>(5 * kMiB);
  for (int64_t i = 0; i < 4; ++i) {
    memory->announce(&object_, 2 * i * kMiB, 2 * kMiB, object_.fetch());
  }
  EXPECT_EQ(memory->num_bytes(), 4 * kMiB);
  EXPECT_FALSE(is_right(4 * kMiB, read(*memory, 4 * kMiB, 10)));
  EXPECT_TRUE(is_right(0, read(*memory, 0, 2 * kMiB)));
  wait_for([&] { return memory->num_bytes() == 2 * kMiB; });
  memory->announce(&object_, 4 * kMiB, 2 * kMiB, object_.fetch());
  EXPECT_TRUE(is_right(4 * kMiB, read(*memory, 4 * kMiB, 10)));
}

TEST_F(RangeMemoryTest, WhatIsLeftOverMakesRoom) {
  const auto memory = std::make_shared<RangeMemory>(3 * kMiB);
  memory->announce(&object_, 0, 2 * kMiB, object_.fetch());
  EXPECT_TRUE(is_right(0, read(*memory, 0, 10)));
  for (int64_t i = 0; i < 300; ++i) {
    memory->announce(&object_, 4 * kMiB, kMiB, object_.fetch());
    if (!is_right(4 * kMiB, read(*memory, 4 * kMiB, kMiB))) break;
  }
  memory->announce(&object_, 8 * kMiB, 2 * kMiB, object_.fetch());
  EXPECT_TRUE(is_right(8 * kMiB, read(*memory, 8 * kMiB, 10)));
  EXPECT_TRUE(read(*memory, 0, 10).empty());
}

TEST_F(RangeMemoryTest, AnErrorIsOfThoseWhoWaitAndOthersReadAlone) {
  object_.error = std::make_exception_ptr(std::runtime_error("no"));
  object_.gate = &gate_;
  const auto memory = std::make_shared<RangeMemory>();
  std::thread announcer([&] { memory->announce(&object_, 0, 2 * kMiB, object_.fetch()); });
  wait_for([&] { return object_.num_fetches() == 1; });
  std::vector<std::byte> out(100);
  auto answer = begin(*memory, 5, out);
  gate_.count_down();
  EXPECT_NE(answer.get(), nullptr);
  announcer.join();
  wait_for([&] { return memory->num_bytes() == 0; });
  EXPECT_TRUE(read(*memory, 5, 100).empty());
}

TEST_F(RangeMemoryTest, ForgetsTheRangesOfAnObject) {
  const auto memory = std::make_shared<RangeMemory>();
  MemoryObject other{random_bytes(2 * kMiB, 5)};
  memory->announce(&object_, 0, 2 * kMiB, object_.fetch());
  memory->announce(&object_, 4 * kMiB, 2 * kMiB, object_.fetch());
  memory->announce(&other, 0, kMiB, other.fetch());
  wait_for([&] { return !memory->is_coming(&object_, 4 * kMiB, 10); });
  memory->forget(&object_);
  EXPECT_EQ(memory->num_bytes(), kMiB);
  EXPECT_TRUE(read(*memory, 0, 10).empty());
  EXPECT_EQ(read(*memory, 0, 10, &other).size(), 10U);
}

TEST_F(RangeMemoryTest, OneIsOfTheProcess) {
  EXPECT_EQ(RangeMemory::of_process(), RangeMemory::of_process());
}

}  // namespace
}  // namespace ffkit
