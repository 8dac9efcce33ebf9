#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <span>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/loader/torch.h>
#include <ffkit/trainer/device_prefetcher.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

const DeviceField& find_field(const DeviceBatch& batch, std::string_view name) {
  const auto found = std::ranges::find(batch.fields, name, &DeviceField::name);
  if (found != batch.fields.end()) return *found;
  std::vector<std::string> names;
  for (const DeviceField& field : batch.fields) names.push_back(field.name);
  throw error_of(ErrorCode::not_found, "the batch has no field '{}'; its fields are {}", name,
                 fmt::join(names, ", "));
}

}  // namespace

bool DeviceBatch::has(std::string_view name) const {
  return std::ranges::find(fields, name, &DeviceField::name) != fields.end();
}

const at::Tensor& DeviceBatch::field(std::string_view name) const {
  return find_field(*this, name).values;
}

const at::Tensor& DeviceBatch::row_offsets(std::string_view name) const {
  const DeviceField& field = find_field(*this, name);
  if (!field.row_offsets.defined()) {
    throw error_of(ErrorCode::not_found,
                   "the batch has no row offsets for the field '{}', because all samples of this "
                   "field have one shape",
                   name);
  }
  return field.row_offsets;
}

void DeviceBatch::replace(std::string_view name, at::Tensor values) {
  const_cast<DeviceField&>(find_field(*this, name)).values = std::move(values);
}

std::shared_ptr<SlabAllocator> pinned_slab_allocator() {
  // Without a device libtorch's allocator throws something unspecific.
  if (!at::globalContext().hasCUDA()) {
    throw Error(ErrorCode::unsupported,
                "pinned memory needs a CUDA device, but libtorch finds none; use the default "
                "allocator of the loader");
  }
  return std::make_shared<TensorSlabAllocator>([](int64_t num_bytes) {
    return at::empty({num_bytes}, at::TensorOptions(at::kByte).pinned_memory(true));
  });
}

namespace {

DeviceBatch on_host(const std::shared_ptr<Batch>& batch) {
  DeviceBatch out;
  out.size = batch->size();
  out.mix_lambda = batch->mix_lambda();
  out.record_indices.assign(batch->record_indices().begin(), batch->record_indices().end());
  for (size_t i = 0; i < batch->num_fields(); ++i) {
    const BatchArray array = batch->field(i);
    DeviceField& field = out.fields.emplace_back();
    field.name = batch->field_name(i);
    field.values = i == batch->image_field() ? images_tensor(batch) : array_tensor(batch, array);
    if (!batch->has_rows(i)) continue;
    const std::span<const int64_t> offsets = batch->row_offsets(field.name);
    field.row_offsets = at::empty({std::ssize(offsets)}, at::kLong);
    std::copy(offsets.begin(), offsets.end(), field.row_offsets.mutable_data_ptr<int64_t>());
  }
  return out;
}

}  // namespace

struct DevicePrefetcher::Impl {
  struct Copy {
    DeviceBatch batch;
    LoaderState state;              // behind it
    std::shared_ptr<Batch> source;  // must stay until `done`
    std::shared_ptr<c10::Event> done;
  };

  Impl(Loader& from, c10::Device to) : loader(from), device(to) {}

  // Nothing at the end of the epoch.
  std::optional<Copy> take() {
    std::optional<Batch> batch = loader.next();
    if (!batch) return std::nullopt;
    Copy copy;
    copy.source = std::make_shared<Batch>(std::move(*batch));
    copy.state = loader.state();
    copy.batch = on_host(copy.source);
    if (device.is_cpu()) return copy;
    recycle();
    const c10::impl::VirtualGuardImpl streams(device.type());
    if (!copy_stream) copy_stream = streams.getNewStream(device);
    const c10::StreamGuard guard(*copy_stream);
    for (DeviceField& field : copy.batch.fields) {
      field.values = field.values.to(device, field.values.scalar_type(), /*non_blocking=*/true);
    }
    copy.done = std::make_shared<c10::Event>(device.type());
    copy.done->record(*copy_stream);
    sources.emplace_back(copy.done, copy.source);
    return copy;
  }

  // Gives back the slabs that have been copied; waits for the oldest copy when too many are under
  // way.
  void recycle() {
    while (!sources.empty() && sources.front().first->query()) sources.pop_front();
    while (sources.size() >= kHeldBatches - 1) {
      sources.front().first->synchronize();
      sources.pop_front();
    }
  }

  // The copies are over before the slabs are given back to the loader, which writes to them.
  void drop() {
    ahead.reset();
    for (const auto& [done, source] : sources) done->synchronize();
    sources.clear();
  }

  Loader& loader;
  const c10::Device device;
  std::optional<c10::Stream> copy_stream;
  std::optional<Copy> ahead;
  std::deque<std::pair<std::shared_ptr<c10::Event>, std::shared_ptr<Batch>>> sources;
  LoaderState state;
};

DevicePrefetcher::DevicePrefetcher(Loader& loader, c10::Device device)
    : impl_(std::make_unique<Impl>(loader, device)) {
  if (loader.options().memory.held_batches < kHeldBatches) {
    throw error_of(ErrorCode::invalid_argument,
                   "held_batches is {}, but a device prefetcher needs at least {} held batches",
                   loader.options().memory.held_batches, kHeldBatches);
  }
  impl_->state = loader.state();
}

DevicePrefetcher::~DevicePrefetcher() {
  try {
    impl_->drop();
  } catch (const std::exception&) {
    // A device that failed says so to everybody who waits for it, and copies nothing any more.
  }
}

void DevicePrefetcher::set_epoch(int64_t epoch) {
  impl_->drop();
  impl_->loader.set_epoch(epoch);
  impl_->state = impl_->loader.state();
}

void DevicePrefetcher::restore(const LoaderState& state) {
  impl_->drop();
  impl_->loader.restore(state);
  impl_->state = impl_->loader.state();
}

std::optional<DeviceBatch> DevicePrefetcher::next() {
  std::optional<Impl::Copy> copy = std::exchange(impl_->ahead, std::nullopt);
  if (!copy) copy = impl_->take();
  if (!copy) {
    impl_->state = impl_->loader.state();
    return std::nullopt;
  }
  impl_->state = copy->state;
  if (impl_->device.is_cpu()) return std::move(copy->batch);

  const c10::impl::VirtualGuardImpl streams(impl_->device.type());
  const c10::Stream current = streams.getStream(impl_->device);
  copy->done->block(current);
  // The memory belongs to the copy stream: it must not be reused there before the current one is
  // done with it.
  for (const DeviceField& field : copy->batch.fields) field.values.record_stream(current);
  if (impl_->loader.ready()) impl_->ahead = impl_->take();
  return std::move(copy->batch);
}

bool DevicePrefetcher::wait_for(std::chrono::nanoseconds limit) {
  return impl_->ahead || impl_->loader.wait_for(limit);
}

LoaderState DevicePrefetcher::state() const {
  return impl_->state;
}

}  // namespace ffkit
