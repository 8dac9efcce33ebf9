#include "data/data_source.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ffkit/format/error.h>
#include <ffkit/trainer/pinned_allocator.h>

#include "launch/core_share.h"
#include "launch/waiting.h"

namespace ffkit {
namespace {

LoaderOptions common_options(const TrainOptions& options, const ProcessPlace& place,
                             c10::Device device) {
  LoaderOptions out;
  out.batch_size = options.batch_size;
  out.sampler.seed = options.seed;
  out.sampler.rank = place.rank;
  out.sampler.world_size = place.world_size;
  out.image.output.layout = options.channels_last ? Layout::nhwc : Layout::nchw;
  out.num_threads = options.threads > 0
                        ? options.threads
                        : default_decoding_threads(core_share(place.local_world_size), device);
  out.prefetch_batches = options.prefetch;
  out.held_batches = DevicePrefetcher::kHeldBatches;
  // Copies overlap with computing only from pinned memory.
  if (device.is_cuda()) out.allocator = pinned_slab_allocator();
  return out;
}

Dataset checked(Dataset dataset, int64_t num_classes) {
  const std::vector<int64_t> labels = dataset.int_column("label");
  const auto wrong = std::find_if(labels.begin(), labels.end(), [num_classes](int64_t label) {
    return label < 0 || label >= num_classes;
  });
  if (wrong != labels.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record {} has the label {}, but there are {} classes; convert the "
                            "data set again, or leave such records out",
                            wrong - labels.begin(), *wrong, num_classes),
                {.path = dataset.path().string()});
  }
  return dataset;
}

// In the order of torchvision's recipes: colours first, then the policy.
std::vector<Augmentation> augmentations(const TrainOptions& o) {
  std::vector<Augmentation> out;
  out.reserve(2);
  if (o.jitter_brightness > 0 || o.jitter_contrast > 0 || o.jitter_saturation > 0 ||
      o.jitter_hue > 0) {
    out.push_back(ColorJitter{.brightness = o.jitter_brightness,
                              .contrast = o.jitter_contrast,
                              .saturation = o.jitter_saturation,
                              .hue = o.jitter_hue});
  }
  if (o.auto_augment == AutoAugment::randaugment) {
    out.push_back(RandAugment{.num_ops = o.randaugment_ops, .magnitude = o.randaugment_magnitude});
  } else if (o.auto_augment == AutoAugment::trivialaugment) {
    out.push_back(TrivialAugmentWide{});
  }
  return out;
}

}  // namespace

std::vector<std::string> class_list(const Dataset& dataset) {
  if (dataset.schema().index_of("label") < 0) {
    throw Error(ErrorCode::invalid_argument,
                "the data set has no field 'label'; training needs image classification data",
                {.path = dataset.path().string()});
  }
  if (!dataset.manifest().classes.empty()) return dataset.manifest().classes;
  const std::vector<int64_t> labels = dataset.int_column("label");
  const int64_t num_classes = *std::max_element(labels.begin(), labels.end()) + 1;
  std::vector<std::string> classes;
  for (int64_t i = 0; i < num_classes; ++i) classes.push_back(std::to_string(i));
  return classes;
}

Dataset open_data(const TrainOptions& options, const std::string& split) {
  return Dataset::open(options.data, split, {.max_record_bytes = options.max_record_bytes});
}

Dataset open_val(const TrainOptions& options, const std::vector<std::string>& classes) {
  Dataset val = open_data(options, "val");
  const std::vector<std::string>& own = val.manifest().classes;
  if (!own.empty() && own != classes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("its {} classes are not the {} that the model is trained for; convert "
                            "both splits from the same source",
                            own.size(), classes.size()),
                {.path = val.path().string()});
  }
  return val;
}

int64_t train_image_size(const TrainOptions& o, int64_t epoch) {
  constexpr int64_t kStep = 32;
  if (o.progressive_size == 0 || epoch >= o.progressive_to) return o.image_size;
  if (epoch <= o.progressive_from) return o.progressive_size;
  const double progress =
      double(epoch - o.progressive_from) / double(o.progressive_to - o.progressive_from);
  const double size =
      double(o.progressive_size) + progress * double(o.image_size - o.progressive_size);
  const int64_t nearest = kStep * int64_t(std::llround(size / double(kStep)));
  return std::clamp(nearest, o.progressive_size, o.image_size);
}

int default_decoding_threads(int cores, c10::Device device) {
  return device.is_cuda() ? cores : 1 + cores / 16;
}

LoaderOptions train_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                   c10::Device device, int64_t epoch) {
  LoaderOptions out = common_options(options, place, device);
  out.sampler.order = Order::shuffle;
  out.sampler.tail = Tail::drop;
  out.image.transform = RandomResizedCrop{.size = train_image_size(options, epoch),
                                          .scale_min = options.crop_scale_min,
                                          .scale_max = options.crop_scale_max,
                                          .interpolation = options.interpolation};
  out.image.augmentations = augmentations(options);
  if (options.random_erasing > 0) {
    out.image.erasing = RandomErasing{.probability = options.random_erasing};
  }
  out.mixing = {.mixup_alpha = options.mixup_alpha, .cutmix_alpha = options.cutmix_alpha};
  if (device.is_cuda()) write_bytes(out);
  return out;
}

LoaderOptions val_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                 c10::Device device) {
  LoaderOptions out = common_options(options, place, device);
  out.sampler.order = Order::sequential;
  out.sampler.tail = Tail::exact;
  out.image.transform = ResizeCenterCrop{.resize = options.resolved_eval_resize(),
                                         .size = options.resolved_eval_size(),
                                         .interpolation = options.interpolation};
  if (device.is_cuda()) write_bytes(out);
  return out;
}

void write_bytes(LoaderOptions& options) {
  const bool is_mixed = options.mixing.mixup_alpha > 0 || options.mixing.cutmix_alpha > 0;
  if (is_mixed || options.image.erasing) return;
  options.image.output.dtype = DType::u8;
  options.image.output.normalize = false;
}

DataSource::DataSource(Dataset dataset, LoaderOptions options, int64_t num_classes,
                       int64_t limit_batches, c10::Device device)
    : loader_(checked(std::move(dataset), num_classes), std::move(options)),
      prefetcher_(loader_, device),
      limit_batches_(limit_batches) {
  const ImageOutput& output = loader_.options().image.output;
  if (output.dtype != DType::u8) return;
  // (byte / 255 - mean) / std
  const at::Tensor mean = at::empty({3, 1, 1}, at::kDouble);
  const at::Tensor deviation = at::empty({3, 1, 1}, at::kDouble);
  for (int64_t i = 0; i < 3; ++i) {
    mean[i] = double(output.mean[size_t(i)]);
    deviation[i] = double(output.std[size_t(i)]);
  }
  scale_ = (deviation * 255).reciprocal().to(device, at::kFloat);
  shift_ = (-mean / deviation).to(device, at::kFloat);
}

int64_t DataSource::num_batches() const {
  const int64_t all = loader_.num_batches();
  return limit_batches_ > 0 ? std::min(all, limit_batches_) : all;
}

void DataSource::start_epoch(int64_t epoch) {
  prefetcher_.start_epoch(epoch);
  num_returned_ = 0;
}

void DataSource::restore(const LoaderState& state) {
  prefetcher_.restore(state);
  num_returned_ =
      state.position / (loader_.options().batch_size * loader_.options().sampler.world_size);
}

std::optional<TensorBatch> DataSource::next() {
  if (num_returned_ >= num_batches()) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  const Waiting waiting("waiting for data", Waiting::kPatience);
  std::optional<DeviceBatch> batch = prefetcher_.next();
  wait_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!batch) return std::nullopt;
  ++num_returned_;
  if (scale_.defined()) batch->images = batch->images.to(at::kFloat).mul_(scale_).add_(shift_);
  return TensorBatch{
      .images = batch->images, .labels = batch->labels, .mix_lambda = batch->mix_lambda};
}

DummySource::DummySource(const TrainOptions& options, int64_t num_classes, int64_t num_batches,
                         c10::Device device)
    : num_batches_(num_batches) {
  const at::Generator generator = at::detail::createCPUGenerator(options.seed);
  at::Tensor images = at::randn({options.batch_size, 3, options.image_size, options.image_size},
                                generator, at::kFloat);
  if (options.channels_last) images = images.contiguous(at::MemoryFormat::ChannelsLast);
  batch_.images = images.to(device);
  batch_.labels = at::arange(options.batch_size, at::kLong).remainder(num_classes).to(device);
}

void DummySource::start_epoch(int64_t epoch) {
  state_.epoch = epoch;
  state_.position = 0;
  num_returned_ = 0;
}

std::optional<TensorBatch> DummySource::next() {
  if (num_returned_ == num_batches_) return std::nullopt;
  ++num_returned_;
  return batch_;
}

}  // namespace ffkit
