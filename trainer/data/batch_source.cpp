#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include <ffkit/base/machine.h>
#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/pinned_allocator.h>

#include "data/warning.h"
#include "launch/waiting.h"

namespace ffkit {

int default_decoding_threads(int cores, c10::Device device) {
  return device.is_cuda() ? cores : 1 + cores / 16;
}

LoaderOptions common_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                    c10::Device device) {
  LoaderOptions out;
  out.batch_size = options.batch_size;
  out.sampler.seed = options.seed;
  out.sampler.rank = place.rank;
  out.sampler.world_size = place.world_size;
  out.num_threads = options.threads > 0
                        ? options.threads
                        : default_decoding_threads(core_share(place.local_world_size), device);
  out.prefetch_batches = options.prefetch;
  out.held_batches = DevicePrefetcher::kHeldBatches;
  if (options.bad_samples == OnBadSample::skip) {
    out.bad_samples = BadSamples::skip;
    out.on_warning = [](std::string_view sentence) { warn_on_stderr(std::string(sentence)); };
  }
  // Copies overlap with computing only from pinned memory.
  if (device.is_cuda()) out.allocator = pinned_slab_allocator();
  return out;
}

void set_training_order(const TrainOptions& options, SamplerOptions& sampler) {
  sampler.num_streams = options.num_streams;
  switch (options.order) {
    case SampleOrder::automatic:
      sampler.order = Order::automatic;
      break;
    case SampleOrder::shuffle:
      sampler.order = Order::shuffle;
      break;
    case SampleOrder::windowed:
      sampler.order = Order::windowed;
      sampler.window_block_bytes = kStoreBlockBytes;
      if (options.num_streams == 0) sampler.num_streams = sampler.world_size;
      break;
  }
}

Dataset open_split(const TrainOptions& options, const std::string& split) {
  return Dataset::open(options.data.only(), split, {.max_record_bytes = options.max_record_bytes});
}

namespace {

bool normalises_bytes(const LoaderOptions& options) {
  const ImageOutput& output = options.image.output;
  return !options.image_field.empty() && output.dtype == DType::u8 && output.normalize;
}

LoaderOptions options_of_loader(LoaderOptions options) {
  if (normalises_bytes(options)) options.image.output.normalize = false;
  return options;
}

}  // namespace

LoaderSource::LoaderSource(Dataset dataset, LoaderOptions options, int64_t limit_batches,
                           c10::Device device)
    : normalises_bytes_(normalises_bytes(options)),
      loader_(std::move(dataset), options_of_loader(std::move(options))),
      prefetcher_(loader_, device),
      limit_batches_(limit_batches) {
  if (!normalises_bytes_) return;
  const ImageOutput& output = loader_.options().image.output;
  // (byte / 255 - mean) / std
  const at::Tensor mean = at::empty({3, 1, 1}, at::kDouble);
  const at::Tensor deviation = at::empty({3, 1, 1}, at::kDouble);
  for (int64_t i = 0; i < 3; ++i) {
    mean[i] = double(output.mean[i]);
    deviation[i] = double(output.std[i]);
  }
  scale_ = (deviation * 255).reciprocal().to(device, at::kFloat);
  shift_ = (-mean / deviation).to(device, at::kFloat);
}

int64_t LoaderSource::num_batches() const {
  const int64_t all = loader_.num_batches();
  return limit_batches_ > 0 ? std::min(all, limit_batches_) : all;
}

void LoaderSource::start_epoch(int64_t epoch) {
  prefetcher_.start_epoch(epoch);
  num_returned_ = 0;
}

void LoaderSource::restore(const LoaderState& state) {
  prefetcher_.restore(state);
  num_returned_ =
      state.position / (loader_.options().batch_size * loader_.options().sampler.world_size);
}

std::optional<DeviceBatch> LoaderSource::next() {
  if (num_returned_ >= num_batches()) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  const Waiting waiting("waiting for data", Waiting::kPatience);
  std::optional<DeviceBatch> batch = prefetcher_.next();
  wait_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!batch) return std::nullopt;
  ++num_returned_;
  if (num_returned_ == num_batches()) report_replaced();
  if (normalises_bytes_) {
    const std::string& image = loader_.options().image_field;
    batch->replace(image, batch->field(image).to(at::kFloat).mul_(scale_).add_(shift_));
  }
  return batch;
}

void LoaderSource::report_replaced() {
  const int64_t num_replaced = loader_.statistics().num_replaced;
  const int64_t in_this_epoch = num_replaced - num_replaced_before_;
  num_replaced_before_ = num_replaced;
  if (in_this_epoch == 0) return;
  warn_on_stderr(fmt::format("{}: {} bad {} of this epoch {} replaced by others",
                             loader_.dataset().path().string(), in_this_epoch,
                             in_this_epoch == 1 ? "sample" : "samples",
                             in_this_epoch == 1 ? "was" : "were"));
}

void RepeatedBatch::start_epoch(int64_t epoch) {
  state_.epoch = epoch;
  state_.position = 0;
  num_returned_ = 0;
}

std::optional<DeviceBatch> RepeatedBatch::next() {
  if (num_returned_ == num_batches_) return std::nullopt;
  ++num_returned_;
  return batch_;
}

}  // namespace ffkit
