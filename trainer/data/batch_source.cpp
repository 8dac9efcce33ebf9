#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>
#include <ffkit/launch/stop.h>
#include <ffkit/trainer/batch_source.h>

#include "base/machine/wait_check.h"
#include "base/make_error.h"
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
  out.num_threads = options.num_threads > 0
                        ? options.num_threads
                        : default_decoding_threads(core_share(place.local_world_size), device);
  out.memory.prefetch_batches = options.prefetch_batches;
  out.memory.held_batches = DevicePrefetcher::kHeldBatches;
  out.bad_samples = options.bad_samples;
  if (options.bad_samples == BadSamples::skip)
    out.on_warning = [](std::string_view sentence) { warn_on_stderr(std::string(sentence)); };
  // Copies overlap with computing only from pinned memory.
  if (device.is_cuda()) out.memory.allocator = pinned_slab_allocator();
  return out;
}

void set_training_order(const TrainOptions& options, SamplerOptions& sampler) {
  sampler.windows.num_streams = options.num_streams;
  sampler.order = options.order;
  if (options.order != Order::windowed) return;
  sampler.windows.window_block_bytes = kStoreBlockBytes;
  if (options.num_streams == 0) sampler.windows.num_streams = sampler.world_size;
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
    mean[i] = output.mean[i];
    deviation[i] = output.std[i];
  }
  scale_ = (deviation * 255).reciprocal().to(device, at::kFloat);
  shift_ = (-mean / deviation).to(device, at::kFloat);
}

int64_t LoaderSource::num_batches() const {
  const int64_t all = loader_.num_batches();
  return limit_batches_ > 0 ? std::min(all, limit_batches_) : all;
}

void LoaderSource::set_epoch(int64_t epoch) {
  prefetcher_.set_epoch(epoch);
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
  wait_seconds_ = std::exchange(waited_before_, 0) + seconds_since(start);
  if (!batch) return std::nullopt;
  ++num_returned_;
  if (num_returned_ == num_batches()) report_bad();
  if (normalises_bytes_) {
    const std::string& image = loader_.options().image_field;
    batch->replace(image, batch->field(image).to(at::kFloat).mul_(scale_).add_(shift_));
  }
  return batch;
}

bool LoaderSource::wait_for_batch() {
  const auto start = std::chrono::steady_clock::now();
  while (num_returned_ < num_batches() && stop_signal() == 0 &&
         !prefetcher_.wait_for(std::chrono::milliseconds(100))) {
    check_wait({});  // another process may have been asked to stop
  }
  waited_before_ = seconds_since(start);
  return stop_signal() == 0;  // else a batch may hold nothing but that
}

void LoaderSource::report_bad() {
  const LoaderStatistics epoch = loader_.epoch_statistics();
  const std::filesystem::path& data = loader_.dataset().path();
  warn_of_left_out(data, epoch.num_left_out, epoch.num_samples + epoch.num_left_out);
  if (epoch.num_replaced == 0) return;
  warn_on_stderr(fmt::format("{}: {} bad {} of this epoch {} replaced by others", data.string(),
                             epoch.num_replaced, epoch.num_replaced == 1 ? "sample" : "samples",
                             epoch.num_replaced == 1 ? "was" : "were"));
}

void RepeatedBatch::set_epoch(int64_t epoch) {
  state_.epoch = epoch;
  state_.position = 0;
  num_returned_ = 0;
}

std::optional<DeviceBatch> RepeatedBatch::next() {
  if (num_returned_ == num_batches_) return std::nullopt;
  ++num_returned_;
  return batch_;
}

namespace {

namespace fs = std::filesystem;
using Misfit = std::string (*)(const Schema&);

// The first of `names` that the folder has; none: there is none.
std::optional<std::string> split_in(const fs::path& folder, const std::vector<std::string>& names) {
  const auto found =
      std::ranges::find_if(names, [&](const std::string& name) { return has_split(folder, name); });
  if (found == names.end()) return std::nullopt;
  return *found;
}

// Where the folder has none of the splits, the error lists those that it has.
Dataset open_fitting(const TrainOptions& options, const fs::path& folder,
                     const std::vector<std::string>& names, Misfit misfit) {
  Dataset split = Dataset::open(folder, split_in(folder, names).value_or(names.front()),
                                {.max_record_bytes = options.max_record_bytes});
  const std::string reason = misfit(split.schema());
  if (!reason.empty()) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument, reason);
  }
  return split;
}

// Folders may lack the split as long as one has it; a folder that is not there is a mistake.
Dataset open_all(const TrainOptions& options, const std::vector<std::string>& names, Misfit misfit,
                 bool may_lack_split) {
  const auto open = [&](const fs::path& folder) {
    return open_fitting(options, folder, names, misfit);
  };
  if (!options.data.are_several()) return open(options.data.only());
  std::vector<Dataset> splits;
  for (const DataFolder& folder : options.data.folders()) {
    std::error_code error;
    const bool is_there = !is_local(folder.path) || fs::is_directory(folder.path, error);
    if (may_lack_split && is_there && !split_in(folder.path, names)) continue;
    splits.push_back(open(folder.path));
  }
  return splits.empty() ? open(options.data.folders().front().path) : Dataset::chain(splits);
}

Mixture mixture_of_sizes(const TrainOptions& options, const Dataset& train) {
  return {.num_records = train.source_sizes(), .weights = options.data.weights()};
}

}  // namespace

Dataset open_mixed_split(const TrainOptions& options, const std::vector<std::string>& names,
                         Misfit misfit) {
  return open_all(options, names, misfit, /*may_lack_split=*/false);
}

Dataset open_mixed_validation(const TrainOptions& options, const std::vector<std::string>& names,
                              Misfit misfit) {
  return open_all(options, names, misfit, /*may_lack_split=*/true);
}

std::optional<Mixture> training_mixture(const TrainOptions& options) {
  if (!options.data.are_several()) return std::nullopt;
  return Mixture{.weights = options.data.weights()};
}

void require_a_step(const TrainOptions& options, const Dataset& train) {
  int64_t num_samples = train.num_records();
  if (options.data.are_several()) {
    const std::vector<int64_t> counts = mixture_counts(mixture_of_sizes(options, train));
    num_samples = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  }
  if (num_samples >= options.global_batch_size) return;
  throw dataset_error(train.path(), ErrorCode::invalid_argument,
                      "{0} has {1} {2}, but one training step needs {3} {2}; give a smaller {4}",
                      options.data.are_several() ? "an epoch" : "the split", num_samples,
                      options.data.are_several() ? "samples" : "records", options.global_batch_size,
                      option_name("batch_size"));
}

std::vector<std::string> mixture_notes(const TrainOptions& options, const Dataset& train,
                                       const Dataset* val) {
  std::vector<std::string> notes;
  if (!options.data.are_several()) return notes;
  const std::vector<int64_t> sizes = train.source_sizes();
  const std::vector<int64_t> counts = mixture_counts(mixture_of_sizes(options, train));
  const auto sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  for (size_t i = 0; i < counts.size(); ++i) {
    notes.push_back(fmt::format("{}: {:.1f} % of an epoch, {} samples of {} records",
                                train.source(static_cast<int64_t>(i)).path().string(),
                                100 * static_cast<double>(counts[i]) / sum, counts[i], sizes[i]));
  }
  for (int64_t i = 0; val != nullptr && i < val->num_sources(); ++i) {
    const Dataset source = val->source(i);
    notes.push_back(fmt::format("{}: for validation, {} records", source.path().string(),
                                source.num_records()));
  }
  return notes;
}

}  // namespace ffkit
