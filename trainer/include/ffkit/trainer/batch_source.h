// Where training takes its batches from: BatchSource, what a task may write itself, and the sources
// that most tasks need, one over a Loader and one that gives the same batch again and again.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/mixture.h>
#include <ffkit/trainer/device_prefetcher.h>
#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Not thread-safe.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // Batches of an epoch on this process; fixed. The same on all processes for training.
  virtual int64_t num_batches() const = 0;
  virtual void start_epoch(int64_t epoch) = 0;
  // Goes on from `state`; throws Error(invalid_argument) when it is of other data or another seed.
  // A source over several data sets is to tell the place in each of them from the epoch and the
  // position.
  virtual void restore(const LoaderState& state) = 0;
  // Behind the batches that next() has returned. `position`: samples of the epoch that all
  // processes have taken together.
  virtual LoaderState state() const = 0;
  // Nothing at the end of the epoch. Blocks until a batch is ready.
  virtual std::optional<DeviceBatch> next() = 0;
  // How long the last next() blocked, in seconds.
  virtual double wait_seconds() const = 0;
  // What limits it, in a few words for --loader-only: "decode-bound: ..."; empty: not known.
  virtual std::string verdict() const { return {}; }
};

// Decoding threads where none are asked for, of `cores` for this process. A GPU takes samples as
// fast as all of them decode; a CPU computes a hundred times as long as it decodes, and more
// threads would only take cores from the model.
int default_decoding_threads(int cores, c10::Device device);

// What all loaders of a run share: batch size, seed, this process's share, threads and memory.
// Order, tail, pictures and fields are the task's.
LoaderOptions common_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                    c10::Device device);

// Opens a split of options.data. Throws Error(not_found) when there is none, and
// Error(invalid_argument) when there are several data sets: a task that mixes them takes the
// functions below.
Dataset open_split(const TrainOptions& options, const std::string& split);

// The split of each folder of options.data, behind one another (Dataset::chain()). `names`: a
// folder gives the first of these splits that it has. `misfit`, as TaskEntry's, says why records of
// a schema are none for the task. Throws Error(not_found) for a folder without any,
// Error(invalid_argument) for one that does not fit, and what chain() throws.
Dataset open_mixed_split(const TrainOptions& options, const std::vector<std::string>& names,
                         std::string (*misfit)(const Schema&));
// The same without the folders that lack the split, as long as one has it: what is validated.
Dataset open_mixed_validation(const TrainOptions& options, const std::vector<std::string>& names,
                              std::string (*misfit)(const Schema&));

// What SamplerOptions::mixture is for training; none for one data set.
std::optional<Mixture> training_mixture(const TrainOptions& options);

// Throws Error(invalid_argument) when an epoch of `train` has fewer samples than one step of all
// processes. `options`: resolved.
void require_a_step(const TrainOptions& options, const Dataset& train);

// For Task::notes(): a line for each data set with its share of an epoch and its samples, and one
// for each that is validated; nothing for one data set. `val` may be null.
std::vector<std::string> mixture_notes(const TrainOptions& options, const Dataset& train,
                                       const Dataset* val);

// From a loader. A batch shares its memory: it lives until the last tensor over it is gone.
//
// With an image output of u8 and `normalize`, which a loader alone refuses, the loader gives bytes,
// and they are normalised on the device, by mean and std of the options. Without `normalize`, bytes
// stay bytes.
class LoaderSource final : public BatchSource {
 public:
  // `limit_batches` cuts every epoch; 0: none. Throws as Loader's constructor. `options` are for
  // the same `device`.
  LoaderSource(Dataset dataset, LoaderOptions options, int64_t limit_batches,
               c10::Device device = c10::kCPU);

  int64_t num_batches() const override;
  void start_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override;
  LoaderState state() const override { return prefetcher_.state(); }
  std::optional<DeviceBatch> next() override;
  double wait_seconds() const override { return wait_seconds_; }
  std::string verdict() const override { return loader_.statistics().verdict(); }

 private:
  // Says how many samples of an epoch were replaced, when it is over.
  void report_replaced();

  const bool normalises_bytes_;
  Loader loader_;
  DevicePrefetcher prefetcher_;
  at::Tensor scale_, shift_;  // [3,1,1] f32, from bytes to normalised values
  int64_t limit_batches_;
  int64_t num_returned_ = 0;
  int64_t num_replaced_before_ = 0;
  double wait_seconds_ = 0;
};

// One batch, the same again and again: a model without data.
class RepeatedBatch final : public BatchSource {
 public:
  RepeatedBatch(DeviceBatch batch, int64_t num_batches)
      : batch_(std::move(batch)), num_batches_(num_batches) {}

  int64_t num_batches() const override { return num_batches_; }
  void start_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override { state_ = state; }
  LoaderState state() const override { return state_; }
  std::optional<DeviceBatch> next() override;
  double wait_seconds() const override { return 0; }

 private:
  DeviceBatch batch_;
  int64_t num_batches_;
  int64_t num_returned_ = 0;
  LoaderState state_;
};

}  // namespace ffkit
