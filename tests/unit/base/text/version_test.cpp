#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ffkit/base/version.h>

namespace ffkit {
namespace {

TEST(Version, IsTheSameAsNumbersAndAsAText) {
  EXPECT_EQ(FFKIT_VERSION,
            fmt::format("{}.{}.{}", FFKIT_VERSION_MAJOR, FFKIT_VERSION_MINOR, FFKIT_VERSION_PATCH));
}

}  // namespace
}  // namespace ffkit
