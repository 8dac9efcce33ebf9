#include "slab_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace ffkit {
namespace {

// Counts what is allocated.
class CountingAllocator : public SlabAllocator {
 public:
  void* allocate(size_t num_bytes) override {
    if (num_allocated == fail_at) throw std::bad_alloc();
    ++num_allocated;
    return inner_->allocate(num_bytes);
  }
  void deallocate(void* slab, size_t num_bytes) noexcept override {
    ++num_deallocated;
    inner_->deallocate(slab, num_bytes);
  }
  int num_allocated = 0;
  int num_deallocated = 0;
  int fail_at = -1;

 private:
  std::shared_ptr<SlabAllocator> inner_ = default_slab_allocator();
};

std::shared_ptr<SlabPool> make_pool(const std::shared_ptr<SlabAllocator>& allocator) {
  return std::make_shared<SlabPool>(allocator, 3, 4, 5, ImageOutput{.dtype = DType::f32});
}

TEST(SlabPool, AllocatesEverythingAtOnceAndFreesItWithTheLastBatch) {
  auto allocator = std::make_shared<CountingAllocator>();
  Batch batch;
  {
    auto pool = make_pool(allocator);
    EXPECT_EQ(allocator->num_allocated, 3);
    Batch::Slab* slab = pool->acquire();
    slab->size = 2;
    slab->labels = {7, 8, 0, 0};
    batch = pool->hand_over(slab);
    EXPECT_EQ(pool->num_held(), 1);
  }
  EXPECT_EQ(allocator->num_deallocated, 0);
  EXPECT_EQ(batch.labels()[1], 8);
  batch = Batch();
  EXPECT_EQ(allocator->num_deallocated, 3);
}

TEST(SlabPool, RecyclesSlabsFromAnyThread) {
  auto allocator = std::make_shared<CountingAllocator>();
  auto pool = make_pool(allocator);
  for (int i = 0; i < 10; ++i) {
    Batch batch = pool->hand_over(pool->acquire());
    std::thread([b = std::move(batch)] {}).join();
    EXPECT_EQ(pool->num_held(), 0);
  }
  EXPECT_EQ(allocator->num_allocated, 3);
}

TEST(SlabPool, FreesWhatItHasWhenMemoryRunsOut) {
  auto allocator = std::make_shared<CountingAllocator>();
  allocator->fail_at = 2;
  EXPECT_THROW(make_pool(allocator), std::bad_alloc);
  EXPECT_EQ(allocator->num_deallocated, 2);
}

TEST(Batch, DescribesItsImages) {
  auto pool = std::make_shared<SlabPool>(default_slab_allocator(), 1, 4, 5,
                                         ImageOutput{.dtype = DType::u8, .layout = Layout::nhwc});
  Batch::Slab* slab = pool->acquire();
  slab->size = 3;
  slab->epoch = 6;
  slab->step = 9;
  slab->num_replaced = 1;
  const Batch batch = pool->hand_over(slab);
  EXPECT_EQ(batch.shape(), (std::array<int64_t, 4>{3, 5, 5, 3}));
  EXPECT_EQ(batch.dtype(), DType::u8);
  EXPECT_EQ(batch.layout(), Layout::nhwc);
  EXPECT_EQ(batch.epoch(), 6);
  EXPECT_EQ(batch.step(), 9);
  EXPECT_EQ(batch.num_replaced(), 1);
  EXPECT_EQ(batch.labels().size(), 3U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.images()) % 4096, 0U);
}

TEST(Batch, MovesItsSlab) {
  auto pool = make_pool(default_slab_allocator());
  Batch a = pool->hand_over(pool->acquire());
  Batch b = pool->hand_over(pool->acquire());
  const void* images = a.images();
  b = std::move(a);  // b's old slab goes back
  EXPECT_EQ(pool->num_held(), 1);
  EXPECT_EQ(b.images(), images);
  Batch& same = b;
  b = std::move(same);
  EXPECT_EQ(b.images(), images);
  EXPECT_EQ(pool->num_held(), 1);
}

TEST(Batch, EmptyOneHasNothing) {
  const Batch batch;
  EXPECT_EQ(batch.size(), 0);
  EXPECT_EQ(batch.images(), nullptr);
  EXPECT_TRUE(batch.labels().empty());
  EXPECT_TRUE(batch.record_indices().empty());
}

TEST(SlabAllocator, GivesAlignedMemory) {
  const auto allocator = default_slab_allocator();
  for (size_t num_bytes : {size_t{1}, size_t{4096}, size_t{3} << 20}) {
    void* slab = allocator->allocate(num_bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slab) % 4096, 0U);
    static_cast<std::byte*>(slab)[num_bytes - 1] = std::byte{1};
    allocator->deallocate(slab, num_bytes);
  }
}

}  // namespace
}  // namespace ffkit
