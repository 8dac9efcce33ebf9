// Samplers that are used without a loader say that there is no memory by an Error, as all of the
// library does.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/loader/sampler.h>

#include "little_memory.h"

namespace ffkit {
namespace {

constexpr int64_t kManyRecords = 4 << 20;

void expect_error_without_memory(const std::function<void()>& call) {
  testing::expect_error_without_memory(8 << 20,
                                       "^there is not enough memory; give the process more", call);
}

TEST(SamplerMemory, ThatIsNotThereForTheWeightsIsAnError) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  SamplerOptions options;
  options.order = Order::weighted;
  options.weights = std::make_shared<const std::vector<double>>(kManyRecords, 1.0);
  expect_error_without_memory([&] { Sampler(kManyRecords, 1, options); });
  const std::vector<int64_t> labels(kManyRecords, 3);
  expect_error_without_memory([&] { class_balanced_weights(labels); });
}

TEST(SamplerMemory, ThatIsNotThereForABatchIsAnError) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const Sampler sampler(10, int64_t{1} << 40, {.tail = Tail::pad});
  std::vector<int64_t> out;
  expect_error_without_memory([&] { sampler.batch(0, 0, 0, out); });
}

}  // namespace
}  // namespace ffkit
