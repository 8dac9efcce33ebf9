#include "data_source.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "synthetic_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

class DataSourceTest : public ::testing::Test {
 protected:
  DataSourceTest() {
    testing::write_synthetic_dataset(temp_ / "data", {.num_train = 10, .num_val = 7});
    options_.image_size = 16;
    options_.eval_resize = 16;
    options_.batch_size = 4;
  }

  Dataset dataset(const char* split) const { return Dataset::open(temp_ / "data", split); }
  std::optional<Batch> first_val_batch(bool channels_last) {
    options_.channels_last = channels_last;
    Loader loader(dataset("val"), val_loader_options(options_, {}));
    loader.start_epoch(0);
    return loader.next();
  }

  testing::TempDir temp_;
  TrainOptions options_;
};

TEST_F(DataSourceTest, WrapsBatchesWithoutACopy) {
  for (const bool channels_last : {false, true}) {
    std::optional<Batch> batch = first_val_batch(channels_last);
    const void* memory = batch->images();
    const TensorBatch tensors = to_tensors(std::move(*batch), 3);
    EXPECT_EQ(tensors.images.const_data_ptr(), memory);
    EXPECT_EQ(tensors.images.sizes(), (std::vector<int64_t>{4, 3, 16, 16}));
    EXPECT_TRUE(tensors.images.is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                                           : at::MemoryFormat::Contiguous));
    EXPECT_EQ(tensors.labels.sizes(), (std::vector<int64_t>{4}));
  }
}

TEST_F(DataSourceTest, GivesTheSamePicturesInBothLayouts) {
  const TensorBatch nchw = to_tensors(std::move(*first_val_batch(false)), 3);
  const TensorBatch nhwc = to_tensors(std::move(*first_val_batch(true)), 3);
  EXPECT_TRUE(nchw.images.equal(nhwc.images));
  EXPECT_TRUE(nchw.labels.equal(nhwc.labels));
}

TEST_F(DataSourceTest, KeepsTheBatchAsLongAsATensorOverIt) {
  at::Tensor part;
  at::Tensor copy;
  {
    const TensorBatch tensors = to_tensors(std::move(*first_val_batch(true)), 3);
    part = tensors.images.select(0, 2);
    copy = part.clone();
  }
  EXPECT_TRUE(part.equal(copy));  // the slab is still there (ASan would say otherwise)
}

TEST_F(DataSourceTest, NamesTheRecordWithAnImpossibleLabel) {
  std::optional<Batch> batch = first_val_batch(true);
  EXPECT_ERROR(to_tensors(std::move(*batch), 2), invalid_argument,
               "record 2 has the label 2, but there are 2 classes");
}

TEST_F(DataSourceTest, ValidatesEveryRecordOnceAndTrainsFullBatches) {
  DataSource val(dataset("val"), val_loader_options(options_, {}), 3, 0);
  val.start_epoch(0);
  std::vector<int64_t> sizes;
  while (auto batch = val.next()) sizes.push_back(batch->labels.size(0));
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 3}));

  DataSource train(dataset("train"), train_loader_options(options_, {}), 3, 0);
  EXPECT_EQ(train.num_batches(), 2);
  train.start_epoch(0);
  sizes.clear();
  while (auto batch = train.next()) sizes.push_back(batch->labels.size(0));
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4}));
}

TEST_F(DataSourceTest, SharesAnEpochAmongProcesses) {
  EXPECT_EQ(train_loader_options(options_, {.rank = 1, .world_size = 2}).sampler.rank, 1);
  DataSource second(dataset("train"), train_loader_options(options_, {.rank = 1, .world_size = 2}),
                    3, 0);
  EXPECT_EQ(second.num_batches(), 1);
}

TEST_F(DataSourceTest, CutsEpochsAtTheLimitAndStartsTheNextWhole) {
  DataSource train(dataset("train"), train_loader_options(options_, {}), 3, 1);
  EXPECT_EQ(train.num_batches(), 1);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    train.start_epoch(epoch);
    EXPECT_EQ(train.state().position, 0);
    EXPECT_TRUE(train.next());
    EXPECT_FALSE(train.next());
  }
}

TEST_F(DataSourceTest, CountsClassesWhereTheManifestNamesNone) {
  EXPECT_EQ(class_list(dataset("train")), (std::vector<std::string>{"blue", "green", "red"}));
  Manifest manifest = read_manifest(temp_ / "data/train/manifest.json");
  manifest.classes.clear();
  write_manifest(temp_ / "data/train/manifest.json", manifest);
  EXPECT_EQ(class_list(dataset("train")), (std::vector<std::string>{"0", "1", "2"}));
}

}  // namespace
}  // namespace ffkit
