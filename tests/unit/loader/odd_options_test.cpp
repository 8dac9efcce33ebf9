// Options and user's objects that cannot be meant: an error at once instead of wrong batches.
#include "loader_prelude.h"

namespace ffkit {
namespace {

class OddOptions : public ::testing::Test {
 protected:
  static LoaderOptions make_options() {
    LoaderOptions options;
    options.batch_size = 4;
    options.num_threads = 1;
    options.image.transform = RandomResizedCrop{.size = 8};
    return options;
  }
  template <typename Change>
  void expect_refused(const Change& change) {
    LoaderOptions options = make_options();
    change(options);
    EXPECT_ERROR(Loader(dataset_, options), invalid_argument);
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_records = 8});
};

// As a cast of a number from a file may give them.
TEST_F(OddOptions, EnumeratorsThatDoNotExistAreRefused) {
  expect_refused([](auto& o) { o.sampler.order = Order(9); });
  expect_refused([](auto& o) { o.sampler.tail = Tail(9); });
  expect_refused([](auto& o) { o.sampler.tail = Tail(-1); });
  expect_refused([](auto& o) { o.bad_samples = BadSamples(2); });
  expect_refused([](auto& o) { o.bad_samples = BadSamples(3); });
  expect_refused([](auto& o) { o.io.engine = IoEngine(3); });
  expect_refused([](auto& o) { o.io.direct = DirectIo(-1); });
  expect_refused([](auto& o) { o.image.output.layout = Layout(2); });
  expect_refused([](auto& o) {
    o.image.transform = Resize{.size = {8, 8}, .interpolation = Interpolation(7)};
  });
}

TEST_F(OddOptions, PixelsThatWouldBeNoNumbersAreRefused) {
  expect_refused([](auto& o) { o.image.output.std = {1, 1e-44F, 1}; });
  expect_refused([](auto& o) { o.image.output.mean = {1, 1, 3e38F}; });
  expect_refused([](auto& o) {
    o.image.augmentations = {ColorJitter{.brightness = FactorRange{0, 1e300}}};
  });
  LoaderOptions options = make_options();
  options.image.augmentations = {ColorJitter{.brightness = FactorRange{1e6, 1e6},
                                             .contrast = FactorRange{1e6, 1e6},
                                             .saturation = FactorRange{1e6, 1e6}}};
  options.image.output.std = {1e-37F, 1, 1};
  EXPECT_EQ(Loader(dataset_, options).next()->size(), 4);
}

// Gives memory at `offset` from where it should be; null for -1.
class OddAllocator final : public SlabAllocator {
 public:
  explicit OddAllocator(int offset) : offset_(offset) {}
  void* allocate(size_t num_bytes) override {
    if (offset_ < 0) return nullptr;
    ++num_alive;
    return static_cast<std::byte*>(whole_->allocate(num_bytes + 4096)) + offset_;
  }
  void deallocate(void* slab, size_t num_bytes) noexcept override {
    --num_alive;
    whole_->deallocate(static_cast<std::byte*>(slab) - offset_, num_bytes + 4096);
  }
  int num_alive = 0;

 private:
  int offset_;
  std::shared_ptr<SlabAllocator> whole_ = default_slab_allocator();
};

TEST_F(OddOptions, AllocatorsThatBreakTheirPromiseAreRefused) {
  const auto crooked = std::make_shared<OddAllocator>(64);
  expect_refused([&](auto& o) { o.memory.allocator = crooked; });
  EXPECT_EQ(crooked->num_alive, 0);
  LoaderOptions options = make_options();
  options.memory.allocator = std::make_shared<OddAllocator>(-1);
  EXPECT_ERROR(Loader(dataset_, options), io);
}

class InParts final : public PartsDecoder {
 public:
  InParts(int64_t num_parts, int64_t extent) : num_parts_(num_parts), extent_(extent) {}
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {extent_}; }
  int64_t num_parts() const override { return num_parts_; }
  void decode_part(const RecordView&, const SampleKey&, int64_t, Scratch*, void*) const override {}

 private:
  int64_t num_parts_;
  int64_t extent_;
};

TEST_F(OddOptions, FieldsThatNobodyWritesAreRefused) {
  const auto add = [](int64_t num_parts, int64_t extent) {
    return [=](LoaderOptions& o) {
      o.fields.push_back({"parts", std::make_shared<InParts>(num_parts, extent)});
    };
  };
  expect_refused(add(0, 3));
  expect_refused(add(-1, 3));
  expect_refused(add(-1, 0));
  LoaderOptions options = make_options();
  add(0, 0)(options);
  EXPECT_EQ(Loader(dataset_, options).next()->field("parts").num_bytes(), 0U);
}

TEST_F(OddOptions, StepsAndPositionsOutsideOfAnEpochAreRefused) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const Order order : {Order::sequential, Order::shuffle, Order::windowed}) {
    const Sampler sampler(10, 3, {.order = order});
    std::vector<int64_t> out;
    EXPECT_ERROR(sampler.batch(0, -1, 0, out), invalid_argument);
    EXPECT_ERROR(sampler.batch(0, 11, 0, out), invalid_argument);
    EXPECT_ERROR(sampler.batch(0, 0, -1, out), invalid_argument);
    EXPECT_ERROR(sampler.batch(0, 0, kMax, out), invalid_argument);
    EXPECT_ERROR(sampler.replacement(0, -1, 0), invalid_argument);
    EXPECT_ERROR(sampler.replacement(0, 10, 0), invalid_argument);
    EXPECT_ERROR(sampler.replacement(0, 0, -1), invalid_argument);
  }
}

}  // namespace
}  // namespace ffkit
