#include "credentials/renewed.h"

#include "canned_client.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using namespace std::chrono_literals;

struct Ticket {
  int number = 0;
  std::optional<Moment> expires = {};
};

TEST(Renewed, IsFetchedFiveMinutesBeforeItEnds) {
  Moment now = testing::kNow;
  int number = 0;
  Renewed<Ticket> renewed([&] { return Ticket{++number, now + 1h}; }, [&] { return now; });
  EXPECT_EQ(renewed.last(), nullptr);
  EXPECT_EQ(renewed.current()->number, 1);
  now += 54min;
  EXPECT_EQ(renewed.current()->number, 1);
  now += 2min;
  EXPECT_EQ(renewed.current()->number, 2);
  EXPECT_EQ(renewed.last()->number, 2);
}

TEST(Renewed, StaysWhileItIsValidAndCannotBeFetched) {
  Moment now = testing::kNow;
  int number = 0;
  Renewed<Ticket> renewed(
      [&] {
        if (++number > 1) throw std::runtime_error("no answer");
        return Ticket{number, now + 1h};
      },
      [&] { return now; });
  renewed.current();
  now += 57min;
  EXPECT_EQ(renewed.current()->number, 1);
  EXPECT_EQ(renewed.current()->number, 1);
  EXPECT_EQ(number, 2);  // the next attempt comes later
  now += 20s;
  EXPECT_EQ(renewed.current()->number, 1);
  EXPECT_EQ(number, 3);
  now += 3min;
  EXPECT_THROW(renewed.current(), std::runtime_error);
}

TEST(Renewed, IsFetchedAnewOnceForAllThatWereRefused) {
  std::atomic<int> number = 0;
  Renewed<Ticket> renewed(
      [&] {
        return Ticket{++number, std::nullopt};
      },
      [] { return testing::kNow; });
  const auto refused = renewed.current();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      renewed.refuse(refused);
      renewed.current();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number, 2);
  EXPECT_EQ(renewed.current()->number, 2);
}

TEST(Renewed, IsFetchedOnceAtATime) {
  std::atomic<int> number = 0;
  std::atomic<int> num_inside = 0;
  std::atomic<bool> was_alone = true;
  Renewed<Ticket> renewed(
      [&] {
        if (++num_inside > 1) was_alone = false;
        std::this_thread::yield();
        --num_inside;
        return Ticket{++number, std::nullopt};
      },
      [] { return testing::kNow; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { renewed.current(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(was_alone);
  EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace ffkit
