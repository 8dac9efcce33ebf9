#include <gtest/gtest.h>

#include <atomic>

#include "expect_error.h"
#include "run_options.h"
#include "support/world.h"

namespace ffkit {
namespace {

// How many ranks of three a check ends with an error.
template <typename Check>
int ranks_that_fail(const Check& check) {
  std::atomic<int> num_failed{0};
  testing::run_world(3, [&](Communicator& world) {
    try {
      check(world);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      ++num_failed;
    }
  });
  return num_failed;
}

TEST(SameRun, AllProcessesHaveTheOptionsOfTheFirst) {
  const auto with_seeds = [](uint64_t of_last, const std::vector<std::string>* given) {
    return ranks_that_fail([=](Communicator& world) {
      TrainOptions options;
      options.data = "/data/of-rank-" + std::to_string(world.rank());  // may differ
      options.seed = world.rank() == 2 ? of_last : 7;
      check_same_options(world, options, given);
    });
  };
  EXPECT_EQ(with_seeds(7, nullptr), 0);
  EXPECT_EQ(with_seeds(8, nullptr), 3);
  const std::vector<std::string> others = {"epochs"};
  EXPECT_EQ(with_seeds(8, &others), 0) << "an option that nobody gave";
  const std::vector<std::string> seed = {"seed"};
  EXPECT_EQ(with_seeds(8, &seed), 3);
}

TEST(SameRun, AllProcessesHaveOneDataSetAndOneOrder) {
  for (const bool is_same : {true, false}) {
    const auto text_of = [=](const Communicator& world) {
      return is_same || world.rank() != 1 ? std::string("one") : std::string("other");
    };
    EXPECT_EQ(ranks_that_fail([&](Communicator& world) {
                check_same_data(world, text_of(world), "/data/set");
              }),
              is_same ? 0 : 3);
    EXPECT_EQ(
        ranks_that_fail([&](Communicator& world) { check_same_order(world, text_of(world)); }),
        is_same ? 0 : 3);
  }
}

}  // namespace
}  // namespace ffkit
