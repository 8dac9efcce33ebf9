#include "tasks/bevformer/data/window_source.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/make_error.h"

namespace ffkit {

WindowSource::WindowSource(nuscenes::Windows windows, LoaderOptions options,
                           std::string fingerprint, int64_t limit_batches, c10::Device device)
    : windows_(std::move(windows)),
      fingerprint_(std::move(fingerprint)),
      seed_(options.sampler.seed),
      source_(windows_.frames, window_options(std::move(options)), limit_batches, device) {}

LoaderOptions WindowSource::window_options(LoaderOptions options) const {
  options.batch_size *= windows_.length;
  options.read_ahead_epochs = false;  // the next epoch has other windows
  windows_.apply(options.sampler);
  // The frames of a window are different pictures.
  options.sampler.share_randomness = false;
  return options;
}

LoaderState WindowSource::state() const {
  LoaderState state = source_.state();
  state.fingerprint = fingerprint_;
  state.position /= windows_.length;
  state.order = fmt::format("windows of {}, {}", windows_.length, windows_.num_windows());
  return state;
}

void WindowSource::restore(const LoaderState& state) {
  const LoaderState own = this->state();
  if (state.fingerprint != own.fingerprint || state.seed != seed_ || state.order != own.order) {
    throw error_of(ErrorCode::invalid_argument,
                   "the run was at a place in other keyframes: '{}', and these are '{}'; give the "
                   "options and the data of that run, or start a new one",
                   state.to_text(), own.to_text());
  }
  LoaderState inner = source_.state();
  inner.epoch = state.epoch;
  inner.position = state.position * windows_.length;
  source_.restore(inner);
}

std::optional<DeviceBatch> WindowSource::next() {
  std::optional<DeviceBatch> batch = source_.next();
  if (!batch) return std::nullopt;
  const int64_t length = windows_.length;
  const std::vector<uint8_t> has_previous = windows_.has_previous(batch->record_indices);
  at::Tensor motion = batch->field("motion").cpu().clone();
  nuscenes::to_differences({motion.mutable_data_ptr<double>(), static_cast<size_t>(motion.numel())},
                           has_previous);
  batch->replace("motion", motion);
  at::Tensor flags = at::empty({std::ssize(has_previous)}, at::kBool);
  std::copy(has_previous.begin(), has_previous.end(), flags.mutable_data_ptr<bool>());
  batch->fields.push_back({.name = "has_previous", .values = flags});
  batch->size /= length;
  std::vector<int64_t> last;
  for (int64_t i = length - 1; i < std::ssize(batch->record_indices); i += length) {
    last.push_back(windows_.frames.index_in_split(batch->record_indices[i]));
  }
  batch->record_indices = std::move(last);
  return batch;
}

}  // namespace ffkit
