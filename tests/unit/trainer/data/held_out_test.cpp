#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tasks/classification/classification_data.h"

namespace ffkit {
namespace {

TEST(HeldOut, IsTheShareThatWasAskedForAndGrowsWithIt) {
  for (const double share : {0.01, 0.1, 0.5, 0.9}) {
    int num_held = 0;
    for (int i = 0; i < 20000; ++i) {
      const std::string id = fmt::format("cat/{:05}.jpg", i);
      num_held += is_held_out(id, share) ? 1 : 0;
      EXPECT_TRUE(is_held_out(id, share) || !is_held_out(id, share / 2)) << id;
    }
    // Five standard deviations.
    EXPECT_NEAR(num_held, 20000 * share, 5 * std::sqrt(20000 * share * (1 - share)));
  }
}

// What was validated must be validated by every later version.
TEST(HeldOut, IsTheSameForEver) {
  std::string held;
  for (int i = 0; i < 60; ++i) {
    if (is_held_out(fmt::format("{}.jpg", i), 0.2)) held += fmt::format("{} ", i);
  }
  EXPECT_EQ(held, "3 4 5 10 19 33 35 46 57 58 ");
}

}  // namespace
}  // namespace ffkit
