#include "tasks/classification/classification_data.h"

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/trainer/classification.h>

#include "support/synthetic_dataset.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

TEST(HeldOut, IsTheShareThatWasAskedForAndGrowsWithIt) {
  for (const double share : {0.01, 0.1, 0.5, 0.9}) {
    int num_held = 0;
    for (int i = 0; i < 20000; ++i) {
      const std::string id = fmt::format("cat/{:05}.jpg", i);
      num_held += is_held_out(id, share) ? 1 : 0;
      EXPECT_TRUE(is_held_out(id, share) || !is_held_out(id, share / 2)) << id;
    }
    // Five standard deviations.
    EXPECT_NEAR(num_held, 20000 * share, 5 * std::sqrt(20000 * share * (1 - share)));
  }
}

// What was validated must be validated by every later version.
TEST(HeldOut, IsTheSameForEver) {
  std::string held;
  for (int i = 0; i < 60; ++i) {
    if (is_held_out(fmt::format("{}.jpg", i), 0.2)) held += fmt::format("{} ", i);
  }
  EXPECT_EQ(held, "3 4 5 10 19 33 35 46 57 58 ");
}

class ClassificationData : public ::testing::Test {
 protected:
  ClassificationData() {
    testing::write_synthetic_dataset(temp_ / "data", {.num_train = 10, .num_val = 7});
    classification(options_).image_size = 16;
    classification(options_).eval_resize = 16;
    options_.batch_size = 4;
  }

  Dataset dataset(const char* split) const { return Dataset::open(temp_ / "data", split); }
  DeviceBatch first_val_batch(bool channels_last) {
    classification(options_).channels_last = channels_last;
    LoaderSource val(dataset("val"), val_loader_options(options_, {}), 0);
    val.set_epoch(0);
    return *val.next();
  }

  testing::TempDir temp_;
  TrainOptions options_;
};

TEST_F(ClassificationData, GivesTensorsInTheLayoutOfTheModel) {
  for (const bool channels_last : {false, true}) {
    const DeviceBatch tensors = first_val_batch(channels_last);
    EXPECT_EQ(tensors.field("image").sizes(), (std::vector<int64_t>{4, 3, 16, 16}));
    EXPECT_TRUE(tensors.field("image").is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                                                   : at::MemoryFormat::Contiguous));
    EXPECT_EQ(tensors.field("label").sizes(), (std::vector<int64_t>{4}));
  }
}

TEST_F(ClassificationData, GivesTheSamePicturesInBothLayouts) {
  const DeviceBatch nchw = first_val_batch(false);
  const DeviceBatch nhwc = first_val_batch(true);
  EXPECT_TRUE(nchw.field("image").equal(nhwc.field("image")));
  EXPECT_TRUE(nchw.field("label").equal(nhwc.field("label")));
}

TEST_F(ClassificationData, KeepsTheBatchAsLongAsATensorOverIt) {
  at::Tensor part;
  at::Tensor copy;
  {
    const DeviceBatch tensors = first_val_batch(true);
    part = tensors.field("image").select(0, 2);
    copy = part.clone();
  }
  EXPECT_TRUE(part.equal(copy));  // the slab is still there (ASan would say otherwise)
}

TEST_F(ClassificationData, PassesTheAugmentationsOnToTheLoader) {
  const LoaderOptions plain = train_loader_options(options_, {});
  EXPECT_TRUE(plain.image.augmentations.empty());
  EXPECT_FALSE(plain.image.erasing);
  EXPECT_FALSE(plain.mixing.is_on());
  classification(options_).jitter_brightness = 0.4;
  classification(options_).jitter_hue = 0.1;
  classification(options_).auto_augment = AutoAugmentMethod::randaugment;
  classification(options_).randaugment_ops = 3;
  classification(options_).randaugment_magnitude = 5;
  classification(options_).random_erasing = 0.25;
  classification(options_).mixup_alpha = 0.2;
  classification(options_).cutmix_alpha = 1;
  classification(options_).interpolation = Interpolation::bicubic;
  const LoaderOptions train = train_loader_options(options_, {});
  ASSERT_EQ(train.image.augmentations.size(), 2);
  const auto& jitter = std::get<ColorJitter>(train.image.augmentations[0]);
  EXPECT_DOUBLE_EQ(jitter.brightness.max, 1.4);
  EXPECT_DOUBLE_EQ(jitter.contrast.max, 1);
  EXPECT_DOUBLE_EQ(jitter.hue.max, 0.1);
  const auto& policy = std::get<RandAugment>(train.image.augmentations[1]);
  EXPECT_EQ(policy.num_ops, 3);
  EXPECT_EQ(policy.magnitude, 5);
  EXPECT_EQ(train.image.erasing->probability, 0.25);
  EXPECT_EQ(train.mixing.mixup_alpha, 0.2);
  EXPECT_EQ(train.mixing.cutmix_alpha, 1);
  EXPECT_EQ(std::get<RandomResizedCrop>(train.image.transform).interpolation,
            Interpolation::bicubic);
  const LoaderOptions val = val_loader_options(options_, {});
  EXPECT_EQ(std::get<ResizeCenterCrop>(val.image.transform).interpolation, Interpolation::bicubic);
  EXPECT_TRUE(val.image.augmentations.empty());
  EXPECT_FALSE(val.mixing.is_on());
}

TEST(DefaultDecodingThreads, AreAllCoresForAGpuAndFewForACpu) {
  EXPECT_EQ(default_decoding_threads(2, c10::kCPU), 1);
  EXPECT_EQ(default_decoding_threads(64, c10::kCPU), 5);
  EXPECT_EQ(default_decoding_threads(16, c10::kCUDA), 16);
}

TEST_F(ClassificationData, ProcessesOfOneMachineShareItsCores) {
  EXPECT_EQ(train_loader_options(options_, {.local_world_size = 1 << 20}).num_threads, 1);
  EXPECT_GE(train_loader_options(options_, {}).num_threads, 1);
  options_.num_threads = 3;
  EXPECT_EQ(val_loader_options(options_, {.local_world_size = 1 << 20}).num_threads, 3);
}

TEST_F(ClassificationData, TellsHowABatchWasMixed) {
  classification(options_).mixup_alpha = 1;
  LoaderSource train(dataset("train"), train_loader_options(options_, {}), 0);
  train.set_epoch(0);
  const DeviceBatch batch = *train.next();
  EXPECT_GT(batch.mix_lambda, 0);
  EXPECT_LT(batch.mix_lambda, 1);
}

TEST_F(ClassificationData, NormalisesBytesAsTheLoaderDoes) {
  for (const bool channels_last : {false, true}) {
    classification(options_).channels_last = channels_last;
    for (const bool is_val : {false, true}) {
      const auto open = [&](bool as_bytes) {
        LoaderOptions o =
            is_val ? val_loader_options(options_, {}) : train_loader_options(options_, {});
        if (as_bytes) write_bytes(o);
        EXPECT_EQ(o.image.output.dtype, as_bytes ? DType::u8 : DType::f32);
        auto source = std::make_unique<LoaderSource>(dataset(is_val ? "val" : "train"), o, 0);
        source->set_epoch(0);
        return source;
      };
      const DeviceBatch floats = *open(false)->next();
      const DeviceBatch bytes = *open(true)->next();
      EXPECT_EQ(bytes.field("image").scalar_type(), at::kFloat);
      EXPECT_EQ(bytes.field("image").strides(), floats.field("image").strides());
      EXPECT_LT(bytes.field("image").sub(floats.field("image")).abs().max().item<double>(), 2e-6);
      EXPECT_TRUE(bytes.field("label").equal(floats.field("label")));
    }
  }
}

// Who asks for bytes without normalize gets bytes.
TEST_F(ClassificationData, LeavesBytesAsTheyAreWithoutNormalize) {
  LoaderOptions o = val_loader_options(options_, {});
  o.image.output.dtype = DType::u8;
  o.image.output.normalize = false;
  Loader loader(dataset("val"), o);
  const std::optional<Batch> expected = loader.next();
  LoaderSource source(dataset("val"), o, 0);
  source.set_epoch(0);
  const at::Tensor images = source.next()->field("image");
  ASSERT_EQ(images.scalar_type(), at::kByte);
  const BatchArray array = expected->field("image");
  ASSERT_EQ(images.nbytes(), array.num_bytes());
  // In memory both have the layout of the loader.
  EXPECT_EQ(std::memcmp(images.data_ptr(), array.data, array.num_bytes()), 0);
}

// They change normalised values.
TEST_F(ClassificationData, LeavesMixedAndErasedPicturesToTheLoader) {
  for (double ClassificationOptions::*option :
       {&ClassificationOptions::mixup_alpha, &ClassificationOptions::cutmix_alpha,
        &ClassificationOptions::random_erasing}) {
    TrainOptions o = options_;
    classification(o).*option = 0.5;
    LoaderOptions loader = train_loader_options(o, {});
    write_bytes(loader);
    EXPECT_EQ(loader.image.output.dtype, DType::f32);
    EXPECT_TRUE(loader.image.output.normalize);
  }
}

TEST(TrainImageSize, GrowsBySteps) {
  TrainOptions o;
  classification(o).image_size = 192;
  EXPECT_EQ(train_image_size(o, 0), 192);
  classification(o).progressive_size = 128;
  classification(o).progressive_from = 3;
  classification(o).progressive_to = 9;
  std::vector<int64_t> sizes;
  for (int64_t epoch = 0; epoch < 11; ++epoch) sizes.push_back(train_image_size(o, epoch));
  EXPECT_EQ(sizes, (std::vector<int64_t>{128, 128, 128, 128, 128, 160, 160, 160, 192, 192, 192}));
  // FFCV's 16 epochs: 160 pixels up to epoch 11, then 192 (rounded up from 176).
  classification(o).progressive_size = 160;
  classification(o).progressive_from = 11;
  classification(o).progressive_to = 13;
  EXPECT_EQ(train_image_size(o, 11), 160);
  EXPECT_EQ(train_image_size(o, 12), 192);
}

TEST_F(ClassificationData, NamesTheRecordWithAnImpossibleLabel) {
  EXPECT_ERROR(with_valid_labels(dataset("val"), 2), invalid_argument);
}

TEST_F(ClassificationData, ValidatesEveryRecordOnceAndTrainsFullBatches) {
  LoaderSource val(dataset("val"), val_loader_options(options_, {}), 0);
  val.set_epoch(0);
  std::vector<int64_t> sizes;
  while (auto batch = val.next()) sizes.push_back(batch->field("label").size(0));
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 3}));

  LoaderSource train(dataset("train"), train_loader_options(options_, {}), 0);
  EXPECT_EQ(train.num_batches(), 2);
  train.set_epoch(0);
  sizes.clear();
  while (auto batch = train.next()) sizes.push_back(batch->field("label").size(0));
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4}));
}

TEST_F(ClassificationData, SharesAnEpochAmongProcesses) {
  EXPECT_EQ(train_loader_options(options_, {.rank = 1, .world_size = 2}).sampler.rank, 1);
  LoaderSource second(dataset("train"),
                      train_loader_options(options_, {.rank = 1, .world_size = 2}), 0);
  EXPECT_EQ(second.num_batches(), 1);
}

TEST_F(ClassificationData, CutsEpochsAtTheLimitAndStartsTheNextWhole) {
  LoaderSource train(dataset("train"), train_loader_options(options_, {}), 1);
  EXPECT_EQ(train.num_batches(), 1);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    train.set_epoch(epoch);
    EXPECT_EQ(train.state().position, 0);
    EXPECT_TRUE(train.next());
    EXPECT_FALSE(train.next());
  }
}

TEST_F(ClassificationData, CountsClassesWhereTheManifestNamesNone) {
  const auto small = [] { return int64_t{1}; };
  EXPECT_EQ(class_list(dataset("train"), small),
            (std::vector<std::string>{"blue", "green", "red"}));
  Manifest manifest = read_manifest(temp_ / "data/train/manifest.json");
  manifest.classes.clear();
  write_manifest(temp_ / "data/train/manifest.json", manifest);
  EXPECT_EQ(class_list(dataset("train"), small), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(ClassificationData, NamesALabelWhoseHeadTakesTooMuchMemory) {
  for (const int64_t label : {int64_t{20'000'000}, std::numeric_limits<int64_t>::max()}) {
    const fs::path folder = temp_ / std::to_string(label);
    const Schema schema = image_classification_schema();
    DatasetWriter writer(folder, {.split = "train", .schema = schema});
    RecordBuilder builder(schema);
    std::vector<std::byte> record;
    for (const int64_t own : {int64_t{0}, label}) {
      builder.set_bytes(schema.require("image"), {});
      builder.set_scalar<int64_t>(schema.require("label"), own);
      builder.set_string(schema.require("id"), "");
      builder.encode(record);
      writer.append(record);
    }
    writer.finish();
    EXPECT_ERROR_CODE(class_list(Dataset::open(folder), [] { return int64_t{1} << 40; }),
                      invalid_argument);
  }
}

}  // namespace

}  // namespace ffkit
