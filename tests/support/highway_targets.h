// Tests that run once for every instruction set that was compiled in and that this processor has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ffkit::testing {

class HighwayTargetTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::vector<int64_t> highway_targets() {
  std::vector<int64_t> list;
  const int64_t all = hwy::SupportedTargets();
  // Bits without loops of their own fall back to the processor's best, which does no harm.
  for (int bit = 0; bit < 62; ++bit) {
    const int64_t target = int64_t{1} << bit;
    const std::string name = hwy::TargetName(target);
    const bool compiled = name == "SSSE3" || name == "SSE4" || name == "AVX2" || name == "AVX3" ||
                          name.starts_with("NEON") || name.starts_with("SVE");
    if ((all & target) != 0 && compiled) list.push_back(target);
  }
  return list;
}

}  // namespace ffkit::testing

#define FFKIT_INSTANTIATE_HIGHWAY_TARGETS(suite)                                \
  INSTANTIATE_TEST_SUITE_P(                                                     \
      Targets, suite, ::testing::ValuesIn(::ffkit::testing::highway_targets()), \
      [](const auto& test) { return std::string(hwy::TargetName(test.param)); })
