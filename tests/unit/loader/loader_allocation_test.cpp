// After warm-up the loader allocates nothing per batch: counted by replacing the program's operator
// new.
#include <ffkit/image/image_codec.h>

#include "image/views/picture_views.h"
#include "loader_prelude.h"
#include "test_images.h"

namespace {
std::atomic<int64_t> num_allocations{0};
}  // namespace

[[gnu::noinline]] void* operator new(size_t num_bytes) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(num_bytes)) return memory;
  throw std::bad_alloc();
}
// The sanitizers' own would not be freed by ours.
[[gnu::noinline]] void* operator new(size_t num_bytes, const std::nothrow_t&) noexcept {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(num_bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void* operator new(size_t num_bytes, std::align_val_t alignment) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  const auto multiple = static_cast<size_t>(alignment);
  num_bytes = (num_bytes + multiple - 1) / multiple * multiple;
  if (void* memory = std::aligned_alloc(multiple, num_bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace ffkit {
namespace {

class LoaderAllocationTest : public ::testing::TestWithParam<IoEngine> {};

TEST_P(LoaderAllocationTest, NothingIsAllocatedPerBatchAfterWarmUp) {
  const testing::TempDir dir;
  const Dataset dataset =
      testing::make_dataset(dir / "train", {.num_records = 800, .width = 16, .height = 16});
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = RandomResizedCrop{.size = 16};
  options.fields = {{"id", copy_string(dataset.schema(), "id")}};
  options.io.engine = GetParam();
  options.io.decoders_read_cache = GetParam() == IoEngine::pread;  // both ways of reading
  Loader loader(dataset, options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    loader.set_epoch(epoch);
    while (loader.next().has_value()) {
    }
  }
  loader.set_epoch(3);
  for (int i = 0; i < 4; ++i) loader.next();
  const int64_t before = num_allocations;
  int num_batches = 0;
  while (loader.next().has_value()) ++num_batches;
  EXPECT_EQ(num_batches, 196);
  // Not zero: a buffer that grows with what happens to meet in it may still grow.
  EXPECT_LT(num_allocations - before, num_batches / 10);
}

INSTANTIATE_TEST_SUITE_P(Engines, LoaderAllocationTest,
                         ::testing::Values(IoEngine::automatic, IoEngine::pread));

TEST(ImagePipelineAllocation, NothingIsAllocatedPerAugmentedImage) {
  const auto image = encode_jpeg(testing::make_picture(60, 50).view());
  for (const ImageTransform& transform :
       {ImageTransform(RandomResizedCrop{.size = 24}),
        ImageTransform(RandomCrop{.size = 40, .pad_if_needed = true})}) {
    ImagePipeline pipeline(
        {.transform = transform,
         .augmentations = {ColorJitter{0.4, 0.4, 0.4, 0.1}, RandAugment{}, TrivialAugmentWide{}},
         .erasing = RandomErasing{.noise = true}});
    std::vector<float> out(size_t{3} * 40 * 40);
    PipelineTimes times;
    for (int64_t i = 0; i < 500; ++i) pipeline.run(image, {1, 0, i}, out.data(), times);
    const int64_t before = num_allocations;
    for (int64_t i = 0; i < 500; ++i) pipeline.run(image, {1, 1, i}, out.data(), times);
    EXPECT_EQ(num_allocations - before, 0);
  }
}

}  // namespace
}  // namespace ffkit
