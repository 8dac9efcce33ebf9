// Real test data that is not part of this repository: the folder named by FFKIT_SHARED_DATA.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace ffkit::testing {

// The file or folder `name` of the shared data, or an empty path when it is not there.
inline std::filesystem::path shared_data(const char* name) {
  const char* root = std::getenv("FFKIT_SHARED_DATA");
  if (root == nullptr || *root == '\0') return {};
  std::filesystem::path path = std::filesystem::path(root) / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path{};
}

}  // namespace ffkit::testing

// Ends the test as skipped, with the reason, when the shared data lacks `name`.
#define FFKIT_REQUIRE_SHARED_DATA(variable, name)                             \
  const std::filesystem::path variable = ::ffkit::testing::shared_data(name); \
  if ((variable).empty())                                                     \
  GTEST_SKIP() << "real data '" << (name) << "' is not in $FFKIT_SHARED_DATA"
