#include "batch/slab_pool.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

// Nothing of it but the shape of its array is used here.
class ShapedDecoder : public FieldDecoder {
 public:
  ShapedDecoder(DType dtype, std::vector<int64_t> shape)
      : dtype_(dtype), shape_(std::move(shape)) {}
  DType dtype() const override { return dtype_; }
  std::vector<int64_t> shape() const override { return shape_; }
  void decode(const RecordView&, const SampleKey&, Scratch*, void*) const override {}

 private:
  DType dtype_;
  std::vector<int64_t> shape_;
};

BatchField shaped(const char* name, DType dtype, std::vector<int64_t> shape) {
  return {name, std::make_shared<ShapedDecoder>(dtype, std::move(shape))};
}

SlabLayout image_and_label(DType dtype = DType::f32, Layout layout = Layout::nchw) {
  SlabLayout out = make_slab_layout({shaped("image", dtype,
                                            layout == Layout::nchw ? std::vector<int64_t>{3, 5, 5}
                                                                   : std::vector<int64_t>{5, 5, 3}),
                                     shaped("label", DType::i64, {})},
                                    4);
  out.image = 0;
  out.label = 1;
  out.image_layout = layout;
  return out;
}

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
  return std::make_shared<SlabPool>(allocator, 3, 4, image_and_label());
}

TEST(SlabPool, AllocatesEverythingAtOnceAndFreesItWithTheLastBatch) {
  auto allocator = std::make_shared<CountingAllocator>();
  Batch batch;
  {
    auto pool = make_pool(allocator);
    EXPECT_EQ(allocator->num_allocated, 3);
    BatchSlab* slab = pool->acquire();
    slab->size = 2;
    batch = pool->hand_over(slab);
    static_cast<int64_t*>(batch.field("label").data)[1] = 8;
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

class LendingAllocator final : public SlabAllocator {
 public:
  void* allocate(size_t num_bytes) override { return inner.allocate(num_bytes); }
  void deallocate(void* slab, size_t num_bytes) noexcept override {
    inner.deallocate(slab, num_bytes);
  }
  bool takes_back_each_batch() const override { return true; }
  CountingAllocator inner;
};

TEST(SlabPool, GivesTheSlabOfEachBatchBackToAnAllocatorThatWantsIt) {
  auto allocator = std::make_shared<LendingAllocator>();
  CountingAllocator& inner = allocator->inner;
  {
    auto pool = std::make_shared<SlabPool>(allocator, 1, 4, image_and_label());
    for (int i = 1; i <= 3; ++i) {
      BatchSlab* slab = pool->acquire();
      EXPECT_EQ(inner.num_allocated, i);
      slab->size = 4;
      Batch batch = pool->hand_over(slab);
      EXPECT_EQ(batch.allocator(), allocator.get());
      EXPECT_EQ(inner.num_deallocated, i - 1);
      batch = Batch();
      EXPECT_EQ(inner.num_deallocated, i);
    }
    pool->discard(pool->acquire());  // one that was not handed over stays
    EXPECT_EQ(inner.num_allocated, 4);
    EXPECT_EQ(inner.num_deallocated, 3);
    pool->hand_over(pool->acquire());
    inner.fail_at = inner.num_allocated;
    for (int i = 0; i < 2; ++i) {
      EXPECT_ERROR(pool->acquire(), io);
    }
    inner.fail_at = -1;
    pool->discard(pool->acquire());
  }
  EXPECT_EQ(inner.num_deallocated, inner.num_allocated);
  EXPECT_EQ(Batch().allocator(), nullptr);
}

TEST(SlabPool, FreesWhatItHasWhenMemoryRunsOut) {
  auto allocator = std::make_shared<CountingAllocator>();
  allocator->fail_at = 2;
  EXPECT_ERROR(make_pool(allocator), io);
  EXPECT_EQ(allocator->num_deallocated, 2);
}

TEST(Batch, DescribesItsImages) {
  auto pool = std::make_shared<SlabPool>(default_slab_allocator(), 1, 4,
                                         image_and_label(DType::u8, Layout::nhwc));
  BatchSlab* slab = pool->acquire();
  slab->size = 3;
  slab->epoch = 6;
  slab->step = 9;
  slab->replacements = {{.index_in_batch = 2, .bad_record = 7},
                        {.index_in_batch = 0, .bad_record = 9}};
  const Batch batch = pool->hand_over(slab);
  EXPECT_EQ(batch.shape(), (std::array<int64_t, 4>{3, 5, 5, 3}));
  EXPECT_EQ(batch.dtype(), DType::u8);
  EXPECT_EQ(batch.layout(), Layout::nhwc);
  EXPECT_EQ(batch.epoch(), 6);
  EXPECT_EQ(batch.step(), 9);
  ASSERT_EQ(batch.replacements().size(), 2U);
  EXPECT_EQ(batch.replacements()[0].bad_record, 9) << "in the order of the batch";
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

TEST(Batch, GivesItsArraysByName) {
  auto pool = std::make_shared<SlabPool>(
      default_slab_allocator(), 1, 4,
      make_slab_layout({shaped("a", DType::u8, {3}), shaped("b", DType::f32, {2, 5}),
                        shaped("c", DType::i64, {})},
                       4));
  BatchSlab* slab = pool->acquire();
  slab->size = 3;
  const Batch batch = pool->hand_over(slab);
  EXPECT_EQ(batch.num_fields(), 3U);
  EXPECT_EQ(batch.field_name(1), "b");
  const BatchArray b = batch.field("b");
  EXPECT_EQ(b.dtype, DType::f32);
  EXPECT_EQ(std::vector<int64_t>(b.shape.begin(), b.shape.end()), (std::vector<int64_t>{3, 2, 5}));
  EXPECT_EQ(b.num_bytes(), 120U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data) % 4096, 0U);
  EXPECT_NE(b.data, batch.field("a").data);
  EXPECT_EQ(batch.field("c").shape.size(), 1U);
  EXPECT_ERROR(batch.field("d"), not_found, .subject = field);
  // It is no classification data.
  EXPECT_EQ(batch.images(), nullptr);
  EXPECT_TRUE(batch.labels().empty());
  EXPECT_EQ(batch.shape(), (std::array<int64_t, 4>{}));
}

TEST(SlabLayout, RefusesWhatCannotBe) {
  EXPECT_ERROR(make_slab_layout({}, 4), invalid_argument);
  EXPECT_ERROR(make_slab_layout({shaped("", DType::u8, {})}, 4), invalid_argument);
  EXPECT_ERROR(make_slab_layout({{"a", nullptr}}, 4), invalid_argument);
  EXPECT_ERROR(make_slab_layout({shaped("a", DType::u8, {}), shaped("a", DType::u8, {})}, 4),
               invalid_argument);
  EXPECT_ERROR(make_slab_layout({shaped("a", DType::u8, {-1})}, 4), invalid_argument);
  EXPECT_ERROR(make_slab_layout({shaped("a", DType::f64, {1 << 30, 1 << 30})}, 4),
               invalid_argument);
  EXPECT_ERROR(make_slab_layout({shaped("a", DType::u8, {int64_t{1} << 45})}, 4), invalid_argument);
  // An array without numbers is one.
  EXPECT_EQ(make_slab_layout({shaped("a", DType::u8, {0, 7})}, 4).fields[0].bytes_per_sample, 0U);
}

}  // namespace
}  // namespace ffkit
