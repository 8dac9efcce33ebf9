// Batches of a data set as tensors on the device that trains.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>
#include <ffkit/trainer/device_prefetcher.h>
#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// The classes of a split: the manifest's, or "0" .. "max(label)" when it names none. Throws
// Error(invalid_argument) for a split without labels.
std::vector<std::string> class_list(const Dataset& dataset);

// Opens a split of options.data.
Dataset open_data(const TrainOptions& options, const std::string& split);

// Opens the split "val". Throws Error(invalid_argument) when its classes are not `classes`, Error(not_found) when there is none.
Dataset open_val(const TrainOptions& options, const std::vector<std::string>& classes);

// Side of the training pictures in `epoch`, counted from 0. With progressive resizing, as FFCV's ImageNet training does it: progressive_size
// up to and with epoch progressive_from, image_size from progressive_to on, and between them the multiple of 32 nearest to the straight line.
int64_t train_image_size(const TrainOptions& options, int64_t epoch);

// Loaders for the two halves of training: every epoch in another order, random crops, flips and the augmentations of the options, full batches
// only; and every record once in order, resized and cropped as models are evaluated. `place`: whose share of the records; `device`: what they
// are for.
LoaderOptions train_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                   c10::Device device = c10::kCPU, int64_t epoch = 0);
LoaderOptions val_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                 c10::Device device = c10::kCPU);
// Decoding threads where none are asked for, of `cores` for this process. A GPU takes pictures as fast as all of them decode; a CPU computes
// a hundred times as long as it decodes, and more threads would only take cores from the model.
int default_decoding_threads(int cores, c10::Device device);

// Makes a loader write pictures as bytes, a quarter of the memory that is copied to a device; DataSource normalises them there. Nothing where
// the loader changes normalised pictures: with MixUp, CutMix or erasing.
void write_bytes(LoaderOptions& options);

struct TensorBatch {
  at::Tensor
      images;  // [N,3,S,S] f32, normalised, contiguous or channels_last as the loader wrote it
  at::Tensor labels;      // [N] i64, 0 <= label < classes
  double mix_lambda = 1;  // Batch::mix_lambda()
};

// Where training takes its batches from. Not thread-safe.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // Batches of an epoch on this process; fixed.
  virtual int64_t num_batches() const = 0;
  virtual void start_epoch(int64_t epoch) = 0;
  // Goes on from `state`; throws Error(invalid_argument) when it is of another data set or seed.
  virtual void restore(const LoaderState& state) = 0;
  virtual LoaderState state() const = 0;
  // Nothing at the end of the epoch. Blocks until a batch is ready.
  virtual std::optional<TensorBatch> next() = 0;
  // How long the last next() blocked.
  virtual double wait_seconds() const = 0;
};

// From a loader. A batch shares its memory: it lives until the last tensor over it is gone. Pictures of bytes are normalised on the device, by
// mean and std of the loader's output options.
class DataSource final : public BatchSource {
 public:
  // `limit_batches` cuts every epoch; 0: none. Throws as Loader's constructor, and Error(invalid_argument) naming the first record whose
  // label is not in 0 .. num_classes-1. `options` are for the same `device`.
  DataSource(Dataset dataset, LoaderOptions options, int64_t num_classes, int64_t limit_batches,
             c10::Device device = c10::kCPU);

  int64_t num_batches() const override;
  void start_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override;
  LoaderState state() const override { return prefetcher_.state(); }
  std::optional<TensorBatch> next() override;
  double wait_seconds() const override { return wait_seconds_; }
  LoaderStatistics statistics() const { return loader_.statistics(); }

 private:
  Loader loader_;
  DevicePrefetcher prefetcher_;
  at::Tensor scale_,
      shift_;  // [3,1,1] f32: of bytes to normalised values; undefined for a loader that normalises
  int64_t limit_batches_;
  int64_t num_returned_ = 0;
  double wait_seconds_ = 0;
};

// How many classes --dummy trains.
constexpr int64_t kDummyClasses = 1000;

// One batch of noise, the same again and again: a model without data. Labels go round the classes.
class DummySource final : public BatchSource {
 public:
  DummySource(const TrainOptions& options, int64_t num_classes, int64_t num_batches,
              c10::Device device);

  int64_t num_batches() const override { return num_batches_; }
  void start_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override { state_ = state; }
  LoaderState state() const override { return state_; }
  std::optional<TensorBatch> next() override;
  double wait_seconds() const override { return 0; }

 private:
  TensorBatch batch_;
  int64_t num_batches_;
  int64_t num_returned_ = 0;
  LoaderState state_;
};

}  // namespace ffkit
