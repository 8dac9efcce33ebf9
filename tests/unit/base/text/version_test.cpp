#include <ffkit/base/version.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

TEST(Version, IsTheSameAsNumbersAndAsAText) {
  EXPECT_EQ(FFKIT_VERSION,
            fmt::format("{}.{}.{}", FFKIT_VERSION_MAJOR, FFKIT_VERSION_MINOR, FFKIT_VERSION_PATCH));
}

}  // namespace
}  // namespace ffkit
