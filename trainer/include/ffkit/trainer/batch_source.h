// BatchSource: gives training its batches. A task may have its own. Most tasks need one of two:
// LoaderSource, or RepeatedBatch, which always gives the same batch.
// May change in any version (docs/stability.md).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/launch/launch.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/sampler.h>
#include <ffkit/trainer/device_prefetcher.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Not thread-safe.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The number of batches of an epoch on this process. It never changes. For training it is the
  // same on all processes.
  virtual int64_t num_batches() const = 0;
  virtual void set_epoch(int64_t epoch) = 0;
  // Continues from `state`. Throws Error(invalid_argument) if it belongs to other data or another
  // seed. A source over several data sets finds its place in each from the epoch and the position.
  virtual void restore(const LoaderState& state) = 0;
  // The state after the batches that next() has returned. Its position counts the samples of the
  // epoch that all processes have taken together.
  virtual LoaderState state() const = 0;
  // The next batch, or nothing at the end of the epoch. Blocks until a batch is ready.
  virtual std::optional<DeviceBatch> next() = 0;
  // Waits until next() does not block and returns true; or returns false if this process was asked
  // to stop. A source that cannot tell returns true at once.
  virtual bool wait_for_batch() { return true; }
  // How long the last next() blocked, with the wait_for_batch() before it, in seconds.
  virtual double wait_seconds() const = 0;
  // What limits the source, in a few words for --loader-only: "decode-bound: ..."; empty: not
  // known.
  virtual std::string verdict() const { return {}; }
};

// The default number of decoding threads for a process with `cores`. A GPU takes samples as fast as
// all cores decode. A CPU computes a hundred times as long as it decodes, and more threads would
// only take cores from the model.
int default_decoding_threads(int cores, c10::Device device);

// The loader options that all loaders of a run share: batch size, seed, this process's share,
// threads and memory. The task sets order, tail, pictures and fields.
LoaderOptions common_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                    c10::Device device);

// Sets the order of training samples from `options`, for tasks that shuffle single samples; the
// data may be in a store.
void set_training_order(const TrainOptions& options, SamplerOptions& sampler);

// Opens a split of options.data. Throws Error(not_found) without the split, and
// Error(invalid_argument) for several data sets. A task that mixes them calls the functions below.
Dataset open_split(const TrainOptions& options, const std::string& split);

// A chain (Dataset::chain()) with a split of each folder of options.data: the first of `names` that
// the folder has. For `misfit` see TaskEntry. Throws Error(not_found) for a folder without such a
// split, Error(invalid_argument) for one that does not fit, and errors of chain().
Dataset open_mixed_split(const TrainOptions& options, const std::vector<std::string>& names,
                         std::string (*misfit)(const Schema&));
// The same for validation: folders that lack the split are left out, unless all lack it.
Dataset open_mixed_validation(const TrainOptions& options, const std::vector<std::string>& names,
                              std::string (*misfit)(const Schema&));

// SamplerOptions::mixture for training; nothing for one data set.
std::optional<Mixture> training_mixture(const TrainOptions& options);

// Throws Error(invalid_argument) if an epoch of `train` has fewer samples than one step of all
// processes. `options` are resolved.
void require_a_step(const TrainOptions& options, const Dataset& train);

// For Task::notes(): a line for each data set, with its share of an epoch and its samples, and a
// line for each one that is validated. Nothing for one data set. `val` may be null.
std::vector<std::string> mixture_notes(const TrainOptions& options, const Dataset& train,
                                       const Dataset* val);

// Batches of a loader. Tensors share the loader's memory, which lives until the last of them is
// gone.
//
// With u8 and `normalize`, which a loader itself refuses, the loader gives bytes, and the device
// normalises them with mean and std of the options. Without `normalize`, bytes stay bytes.
class LoaderSource final : public BatchSource {
 public:
  // `limit_batches` is the most batches of an epoch; 0: no limit. `options` are made for `device`.
  // Throws as Loader's constructor.
  LoaderSource(Dataset dataset, LoaderOptions options, int64_t limit_batches,
               c10::Device device = c10::kCPU);

  int64_t num_batches() const override;
  void set_epoch(int64_t epoch) override;
  void restore(const LoaderState& state) override;
  LoaderState state() const override { return prefetcher_.state(); }
  std::optional<DeviceBatch> next() override;
  bool wait_for_batch() override;
  double wait_seconds() const override { return wait_seconds_; }
  std::string verdict() const override { return loader_.statistics().verdict(); }

 private:
  // At the end of an epoch: prints how many samples were replaced or left out.
  void report_bad();

  const bool normalises_bytes_;
  Loader loader_;
  DevicePrefetcher prefetcher_;
  at::Tensor scale_, shift_;  // [3,1,1] f32, from bytes to normalised values
  int64_t limit_batches_;
  int64_t num_returned_ = 0;
  double waited_before_ = 0;  // for the next one
  double wait_seconds_ = 0;
};

// One batch again and again, for a model without data.
class RepeatedBatch final : public BatchSource {
 public:
  RepeatedBatch(DeviceBatch batch, int64_t num_batches)
      : batch_(std::move(batch)), num_batches_(num_batches) {}

  int64_t num_batches() const override { return num_batches_; }
  void set_epoch(int64_t epoch) override;
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
