#include <ATen/ATen.h>

#include <ffkit/loader/torch.h>
#include <ffkit/trainer/device_prefetcher.h>

#include "collect_epoch.h"
#include "device/device.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

// The device that is there: the copies on a stream of their own are tested where there is a GPU.
// (libtorch alone would say that there is none: its CUDA libraries are opened by that question.)
c10::Device device() {
  return cuda_is_available() ? c10::Device(at::kCUDA, 0) : c10::Device(at::kCPU);
}

class DevicePrefetcherTest : public ::testing::Test {
 protected:
  static LoaderOptions options() {
    LoaderOptions out;
    out.batch_size = 6;
    out.num_threads = 2;
    out.memory.held_batches = DevicePrefetcher::kHeldBatches;
    out.image.transform = RandomResizedCrop{.size = 24};
    out.sampler = {.tail = Tail::exact, .seed = 5};
    if (device().is_cuda()) out.memory.allocator = pinned_slab_allocator();
    return out;
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train");
};

TEST_F(DevicePrefetcherTest, GivesTheLoadersBatchesInOrder) {
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    LoaderOptions with = options();
    with.image.output.layout = layout;
    Loader reference(dataset_, with);
    Loader loader(dataset_, with);
    DevicePrefetcher prefetcher(loader, device());
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      reference.set_epoch(epoch);
      prefetcher.set_epoch(epoch);
      while (auto next = reference.next()) {
        const auto expected = std::make_shared<Batch>(std::move(*next));
        const auto batch = prefetcher.next();
        ASSERT_TRUE(batch.has_value());
        EXPECT_EQ(batch->size, expected->size());
        EXPECT_EQ(batch->field("image").device().type(), device().type());
        EXPECT_TRUE(at::equal(batch->field("image").cpu(), images_tensor(expected)));
        EXPECT_TRUE(at::equal(batch->field("label").cpu(), labels_tensor(expected)));
        EXPECT_EQ(batch->fields.size(), 2U);
        EXPECT_TRUE(batch->field("image").is_contiguous(layout == Layout::nhwc
                                                            ? at::MemoryFormat::ChannelsLast
                                                            : at::MemoryFormat::Contiguous));
        EXPECT_EQ(prefetcher.state(), reference.state()) << "what is ahead does not count";
      }
      EXPECT_FALSE(prefetcher.next().has_value());
    }
  }
}

// As many rows as the label says, each with the label in it.
class LabelRows final : public RowsDecoder {
 public:
  explicit LabelRows(const Schema& schema) : field_(schema.require("label")) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {2}; }
  int64_t max_rows() const override { return 16; }
  int64_t decode_rows(const RecordView& record, const SampleKey&, Scratch*,
                      void* out) const override {
    const auto label = record.scalar<int64_t>(field_) % 16;
    std::fill_n(static_cast<int64_t*>(out), 2 * label, label);
    return label;
  }

 private:
  size_t field_;
};

TEST_F(DevicePrefetcherTest, KeepsTheNamesOfFieldsAndTheOffsetsOfRows) {
  LoaderOptions with = options();
  with.fields = {{"boxes", std::make_shared<LabelRows>(dataset_.schema())}};
  Loader loader(dataset_, with);
  DevicePrefetcher prefetcher(loader, device());
  const DeviceBatch batch = *prefetcher.next();
  EXPECT_EQ(batch.fields[0].name, "image");
  EXPECT_EQ(batch.fields[1].name, "label");
  EXPECT_EQ(batch.fields[2].name, "boxes");
  const at::Tensor labels = batch.field("label").cpu();
  const at::Tensor boxes = batch.field("boxes").cpu();
  const at::Tensor offsets = batch.row_offsets("boxes");
  ASSERT_EQ(offsets.size(0), batch.size + 1);
  ASSERT_EQ(int64_t(batch.record_indices.size()), batch.size);
  const std::vector<int64_t> column = dataset_.int_column("label");
  for (int64_t i = 0; i < batch.size; ++i) {
    const auto label = labels[i].item<int64_t>();
    EXPECT_EQ(column[size_t(batch.record_indices[size_t(i)])], label);
    const auto begin = offsets[i].item<int64_t>();
    EXPECT_EQ(offsets[i + 1].item<int64_t>() - begin, label % 16);
    EXPECT_TRUE(boxes.narrow(0, begin, label % 16).eq(label % 16).all().item<bool>());
  }
  EXPECT_ERROR(batch.field("lidar"), not_found);
  EXPECT_ERROR(batch.row_offsets("label"), not_found);
}

TEST_F(DevicePrefetcherTest, RestoresInTheMiddle) {
  Loader loader(dataset_, options());
  DevicePrefetcher prefetcher(loader, device());
  prefetcher.set_epoch(1);
  prefetcher.next();
  const LoaderState state = prefetcher.state();
  const at::Tensor second = prefetcher.next()->field("image").clone();
  prefetcher.next();
  prefetcher.restore(state);
  EXPECT_TRUE(at::equal(prefetcher.next()->field("image"), second));
}

TEST_F(DevicePrefetcherTest, RefusesALoaderThatHoldsTooFewBatches) {
  LoaderOptions with = options();
  with.memory.held_batches = 2;
  Loader loader(dataset_, with);
  EXPECT_ERROR(DevicePrefetcher(loader, device()), invalid_argument);
}

// Of the loader's own memory; that of pinned memory belongs to libtorch, as below.
TEST_F(DevicePrefetcherTest, TensorsKeepTheirBatch) {
  LoaderOptions with = options();
  with.memory.allocator = nullptr;
  Loader loader(dataset_, with);
  auto batch = std::make_shared<Batch>(std::move(*loader.next()));
  const at::Tensor images = images_tensor(batch);
  const at::Tensor label = labels_tensor(batch);
  const at::Tensor same = array_tensor(batch, batch->field("image"));
  EXPECT_EQ(images.data_ptr(), batch->images()) << "nothing is copied";
  EXPECT_TRUE(at::equal(images, same));
  const std::weak_ptr<Batch> alive = batch;
  batch.reset();
  EXPECT_FALSE(alive.expired());
}

TEST_F(DevicePrefetcherTest, TensorsGiveTheirSlabBack) {
  LoaderOptions with = options();
  with.memory.held_batches = 1;
  with.memory.allocator = nullptr;
  Loader loader(dataset_, with);
  for (int i = 0; i < 4; ++i) {
    const at::Tensor images =
        images_tensor(std::make_shared<Batch>(std::move(*loader.next()))).slice(0, 1, 3);
    EXPECT_ERROR(loader.next(), invalid_argument);
  }
}

// As of pinned memory: what torch.h gives is of the storage that the allocator made, so that
// libtorch sees who uses it, and releases it.
TEST_F(DevicePrefetcherTest, TensorsShareTheStorageOfTheirSlab) {
  int num_alive = 0;
  const auto make = [&num_alive](int64_t num_bytes) {
    ++num_alive;
    auto* memory = new std::byte[static_cast<size_t>(num_bytes)];
    return at::from_blob(
        memory, {num_bytes},
        [&num_alive](void* p) {
          --num_alive;
          delete[] static_cast<std::byte*>(p);
        },
        at::kByte);
  };
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    LoaderOptions with = options();
    with.image.output.layout = layout;
    with.memory.allocator = default_slab_allocator();
    Loader reference(dataset_, with);
    const auto allocator = std::make_shared<TensorSlabAllocator>(make);
    with.memory.allocator = allocator;
    {
      Loader loader(dataset_, with);
      std::vector<at::Tensor> kept;
      while (auto next = loader.next()) {
        auto batch = std::make_shared<Batch>(std::move(*next));
        auto expected = std::make_shared<Batch>(std::move(*reference.next()));
        const at::Tensor images = images_tensor(batch);
        const at::Tensor labels = labels_tensor(batch);
        EXPECT_TRUE(at::equal(images, images_tensor(expected)));
        EXPECT_EQ(images.strides(), images_tensor(expected).strides());
        EXPECT_TRUE(at::equal(labels, labels_tensor(expected)));
        EXPECT_EQ(images.storage().data(), allocator->slab_of(batch->images()).storage().data());
        EXPECT_EQ(images.storage().data(), labels.storage().data());
        kept.push_back(images);  // more than held_batches: the batch itself is gone
      }
      EXPECT_EQ(loader.num_held_batches(), 0);
      EXPECT_GT(int64_t(kept.size()), with.memory.held_batches);
      EXPECT_GE(num_alive, int(kept.size()));
      EXPECT_FALSE(allocator->slab_of(&num_alive).defined());
    }
    EXPECT_EQ(num_alive, 0);
  }
}

TEST_F(DevicePrefetcherTest, BatchesForADeviceArePinned) {
  if (!device().is_cuda()) GTEST_SKIP() << "there is no GPU";
  LoaderOptions with = options();
  Loader loader(dataset_, with);
  EXPECT_TRUE(images_tensor(std::make_shared<Batch>(std::move(*loader.next()))).is_pinned());
}

TEST(PinnedAllocator, SaysWhatToDoWithoutADevice) {
  if (device().is_cuda()) GTEST_SKIP() << "there is a GPU";
  EXPECT_ERROR(pinned_slab_allocator(), unsupported);
}

}  // namespace
}  // namespace ffkit
