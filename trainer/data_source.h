// Batches of a data set as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>
#include <ffkit/trainer/train_options.h>

#include "process_context.h"

namespace ffkit {

// The classes of a split: the manifest's, or "0" .. "max(label)" when it names none. Throws
// Error(invalid_argument) for a split without labels.
std::vector<std::string> class_list(const Dataset& dataset);

// Opens the split "val". Throws Error(invalid_argument) when its classes are not `classes`, Error(not_found) when there is none.
Dataset open_val(const std::filesystem::path& folder, const std::vector<std::string>& classes);

// Side of the training pictures in `epoch`, counted from 0. With progressive resizing, as FFCV's ImageNet training does it: progressive_size up to and with epoch
// progressive_from, image_size from progressive_to on, and between them the multiple of 32 nearest to the straight line.
int64_t train_image_size(const TrainOptions& options, int64_t epoch);

// Loaders for the two halves of training: every epoch in another order, random crops, flips and the augmentations of the options, full batches only; and every
// record once in order, resized and cropped as models are evaluated.
LoaderOptions train_loader_options(const TrainOptions& options, const ProcessContext& process,
                                   int64_t epoch = 0);
LoaderOptions val_loader_options(const TrainOptions& options, const ProcessContext& process);

struct TensorBatch {
  at::Tensor images;      // [N,3,S,S] f32, contiguous or channels_last as the loader wrote it
  at::Tensor labels;      // [N] i64, 0 <= label < classes
  double mix_lambda = 1;  // as Batch::mix_lambda()
};

// Wraps a batch without copying: the batch lives until the last tensor over its memory is gone. Throws Error(invalid_argument) naming the
// record when a label is not in 0 .. num_classes-1.
TensorBatch to_tensors(Batch batch, int64_t num_classes);

// A loader that hands out tensors and keeps the time its consumer waits. Not thread-safe.
class DataSource {
 public:
  // `limit_batches` cuts every epoch; 0: none. Throws as Loader's constructor.
  DataSource(Dataset dataset, LoaderOptions options, int64_t num_classes, int64_t limit_batches);

  // Batches of an epoch; fixed.
  int64_t num_batches() const;
  void start_epoch(int64_t epoch);
  // Starts the epoch of `state`; throws Error(invalid_argument) when it is of another data set or seed.
  void restore(const LoaderState& state);
  LoaderState state() const { return loader_.state(); }
  // Nothing at the end of the epoch. Blocks until a batch is ready.
  std::optional<TensorBatch> next();
  // How long the last next() blocked.
  double wait_seconds() const { return wait_seconds_; }

 private:
  Loader loader_;
  int64_t num_classes_;
  int64_t limit_batches_;
  int64_t num_returned_ = 0;
  double wait_seconds_ = 0;
};

}  // namespace ffkit
