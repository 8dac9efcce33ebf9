// Augmented and mixed batches keep the loader's guarantees.
#include "loader_prelude.h"

namespace ffkit {
namespace {

class LoaderAugmentationTest : public ::testing::Test {
 protected:
  static LoaderOptions plain() {
    LoaderOptions options;
    options.batch_size = 8;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = {20, 28}};
    options.sampler = {.tail = Tail::exact, .seed = 5};
    return options;
  }
  static LoaderOptions augmented() {
    LoaderOptions options = plain();
    options.image.augmentations = {
        ColorJitter{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1},
        RandAugment{}, TrivialAugmentWide{}};
    options.image.erasing = RandomErasing{.noise = true};
    return options;
  }
  static LoaderOptions mixed() {
    LoaderOptions options = augmented();
    options.mixing = {.mixup_alpha = 0.2, .cutmix_alpha = 1.0};
    return options;
  }
  static std::vector<float> values(const CollectedBatch& batch) {
    std::vector<float> out(batch.images.size() / sizeof(float));
    std::memcpy(out.data(), batch.images.data(), batch.images.size());
    return out;
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train");
};

TEST_F(LoaderAugmentationTest, BatchesAreTheSameForAnyThreadsAndEngine) {
  Loader reference(dataset_, mixed());
  const auto expected = collect_epoch(reference, 1);
  EXPECT_NE(expected, collect_epoch(reference, 2));
  for (const IoEngine engine : {IoEngine::automatic, IoEngine::pread}) {
    for (const int num_threads : {1, 4}) {
      for (const int queue_depth : {1, 7, 256}) {
        LoaderOptions options = mixed();
        options.num_threads = num_threads;
        options.io.engine = engine;
        options.io.queue_depth = queue_depth;
        Loader loader(dataset_, options);
        EXPECT_EQ(collect_epoch(loader, 1), expected) << num_threads << " " << queue_depth;
      }
    }
  }
}

TEST_F(LoaderAugmentationTest, ASampleLooksTheSameInAnyBatch) {
  LoaderOptions one = augmented();
  one.batch_size = 1;
  Loader single(dataset_, one);
  std::vector<CollectedBatch> samples(40);
  for (CollectedBatch& sample : collect_epoch(single, 3)) {
    samples[static_cast<size_t>(sample.record_indices[0])] = sample;
  }
  Loader loader(dataset_, augmented());
  for (const CollectedBatch& batch : collect_epoch(loader, 3)) {
    const size_t bytes = batch.images.size() / batch.record_indices.size();
    for (size_t i = 0; i < batch.record_indices.size(); ++i) {
      const CollectedBatch& sample = samples[static_cast<size_t>(batch.record_indices[i])];
      EXPECT_EQ(std::memcmp(batch.images.data() + i * bytes, sample.images.data(), bytes), 0);
    }
  }
}

TEST_F(LoaderAugmentationTest, RestoredMixingGoesOnAlike) {
  Loader straight(dataset_, mixed());
  const auto all = collect_epoch(straight, 0);
  for (size_t k = 0; k < all.size(); ++k) {
    Loader before(dataset_, mixed());
    before.set_epoch(0);
    for (size_t i = 0; i < k; ++i) before.next();
    LoaderOptions options = mixed();
    options.num_threads = 1 + static_cast<int>(k % 3);
    Loader after(dataset_, options);
    after.restore(before.state());
    const auto rest = testing::collect_rest(after);
    ASSERT_EQ(rest.size(), all.size() - k);
    for (size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].images, all[k + i].images);
  }
}

TEST_F(LoaderAugmentationTest, MixingBlendsEachImageWithTheOneBefore) {
  Loader unmixed(dataset_, plain());
  LoaderOptions with = plain();
  with.mixing.mixup_alpha = 1.0;
  Loader mixing(dataset_, with);
  double smallest = 1;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    unmixed.set_epoch(epoch);
    mixing.set_epoch(epoch);
    while (const auto expected = unmixed.next()) {
      const auto batch = mixing.next();
      EXPECT_EQ(expected->mix_lambda(), 1);
      const double lambda = batch->mix_lambda();
      EXPECT_GT(lambda, 0);
      EXPECT_LT(lambda, 1);
      smallest = std::min(smallest, lambda);
      EXPECT_TRUE(
          std::equal(batch->labels().begin(), batch->labels().end(), expected->labels().begin()));
      const auto a = values(testing::collect(*expected));
      const auto b = values(testing::collect(*batch));
      const size_t n = static_cast<size_t>(batch->size());
      const size_t size = a.size() / n;
      for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < size; k += 97) {
          const double other = a[(i + n - 1) % n * size + k];
          EXPECT_NEAR(b[i * size + k], lambda * a[i * size + k] + (1 - lambda) * other, 1e-5);
        }
      }
    }
  }
  EXPECT_LT(smallest, 0.6) << "lambda is drawn";
}

// Ranks see other samples, and mix them by other draws.
TEST_F(LoaderAugmentationTest, MixingIsDrawnForEachRankStepAndEpoch) {
  std::vector<double> drawn;
  for (int rank = 0; rank < 3; ++rank) {
    LoaderOptions options = plain();
    options.batch_size = 4;
    options.mixing.mixup_alpha = 1.0;
    options.sampler.rank = rank;
    options.sampler.world_size = 3;
    Loader loader(dataset_, options);
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      loader.set_epoch(epoch);
      while (const auto batch = loader.next()) drawn.push_back(batch->mix_lambda());
    }
  }
  ASSERT_GE(drawn.size(), 12U);
  std::ranges::sort(drawn);
  EXPECT_EQ(std::ranges::adjacent_find(drawn), drawn.end());
}

TEST_F(LoaderAugmentationTest, RefusesWhatCannotBe) {
  LoaderOptions options = plain();
  options.mixing.mixup_alpha = -1;
  EXPECT_ERROR(Loader(dataset_, options), invalid_argument);
  options = plain();
  options.mixing.mixup_alpha = 0.2;
  options.image_field = "";
  EXPECT_ERROR(Loader(dataset_, options), invalid_argument);
  options = plain();
  options.image.augmentations = {std::shared_ptr<const PixelTransform>()};
  EXPECT_ERROR(Loader(dataset_, options), invalid_argument);
}

TEST_F(LoaderAugmentationTest, AUsersTransformIsKeyedLikeTheLoadersOwn) {
  class Paint final : public PixelTransform {
   public:
    void apply(const RgbImage& image, CounterRandom& random) const override {
      std::memset(image.data, static_cast<int>(random.below(256)), image.num_bytes());
    }
  };
  LoaderOptions options = plain();
  options.image.output = {.dtype = DType::u8, .normalize = false};
  options.image.augmentations = {std::make_shared<Paint>()};
  Loader reference(dataset_, options);
  const auto expected = collect_epoch(reference, 0);
  options.num_threads = 4;
  Loader loader(dataset_, options);
  EXPECT_EQ(collect_epoch(loader, 0), expected);
  EXPECT_NE(expected[0].images[0], expected[0].images[3 * 20 * 28]) << "each its own";
}

}  // namespace
}  // namespace ffkit
