#include "tasks/bevformer/data/bevformer_data.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <utility>

#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "tasks/bevformer/network/bevformer_config.h"

namespace ffkit {

std::vector<std::string> bevformer_archs() {
  return {"tiny", "small", "base", "micro"};
}

namespace {

constexpr EnumName<nuscenes::CanBusRule> kCanBusNames[] = {
    {nuscenes::CanBusRule::none, "none"},
    {nuscenes::CanBusRule::last_row, "last_row"},
    {nuscenes::CanBusRule::bevformer_code, "as_published"}};

nuscenes::CanBusRule can_bus_rule(std::string_view name) {
  const auto* found = std::ranges::find(kCanBusNames, name, &EnumName<nuscenes::CanBusRule>::name);
  if (found == std::end(kCanBusNames)) refuse_name("CAN bus rule", name, names_in(kCanBusNames));
  return found->value;
}

}  // namespace

void BevFormerOptions::describe(OptionTable& t, const TrainOptions&) {
  t.group("Network");
  t.add("arch", arch, "Size of the network").set_choices(bevformer_archs()).set_names_model();
  t.add("backbone-weights", backbone_weights,
        "File (.pth or .safetensors) with the first weights of the backbone. For tiny, these are "
        "weights of torchvision's ResNet-50. For small and base, these are weights of a detector "
        "with ResNet-101 and deformable convolutions")
      .set_local();
  t.add("backbone-lr", backbone_lr, "Learning rate of the backbone, as a share of --lr")
      .require(backbone_lr >= 0 && std::isfinite(backbone_lr), "0 or more");
  t.add("recompute", recompute,
        "Computes the backbone's activations again in the backward pass, which takes less memory "
        "and more time")
      .require(!recompute || arch != "micro",
               "off with --arch micro, because its batch norms would count each batch twice");
  t.group("Keyframes");
  t.add("train-split", train_split, "Split to train on. For v1.0-mini, train means mini_train")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split,
        "Split to validate on. If you give the training split, the result shows how well the "
        "network has learned this split")
      .require(!val_split.empty(), "the name of a split");
  t.add("queue-length", queue_length,
        "Number of keyframes in a training sample. These are the keyframe with the objects to "
        "find, and the keyframes before this keyframe. 0 means the published number, 3 or 4")
      .require(queue_length >= 0 && queue_length <= 100,
               "between 1 and 100, or 0 for the published number");
  t.add("image-scale", image_scale,
        "Factor by which pictures are resized. 0 means the published factor, between 0.5 and 1")
      .require(image_scale >= 0 && image_scale <= 4, "more than 0 and at most 4, or 0");
  t.add_words(
       "can-bus", [this] { return std::string(name_of(kCanBusNames, can_bus)); },
       [this](const std::string& name) { can_bus = can_bus_rule(name); },
       "Message of the CAN bus that is used for a keyframe, if the data set has messages. "
       "'last_row' is the last message up to the keyframe. 'as_published' takes the same values as "
       "the published code of BEVFormer. 'none' uses no message")
      .set_choices(names_in(kCanBusNames));
  t.add("empty-frames", empty_frames, "Also trains on keyframes without objects");
  t.add("class-balanced", class_balanced,
        "Repeats keyframes with objects of rare classes. This is class-balanced sampling (CBGS)");
  t.group("Augmentation");
  t.add("photometric-distortion", photometric_distortion,
        "Changes brightness, contrast, saturation and hue of training pictures at random (default: "
        "on)");
  t.add("grid-mask", grid_mask,
        "Probability that a grid covers the pictures of a training sample. This is the "
        "augmentation GridMask")
      .require(grid_mask >= 0 && grid_mask <= 1, "between 0 and 1");
}

namespace {

constexpr int64_t kPictureMultiple = 32;

int64_t filled_up(int64_t side) {
  return (side + kPictureMultiple - 1) / kPictureMultiple * kPictureMultiple;
}

}  // namespace

// projects/configs/bevformer/bevformer_{tiny,small,base}.py of fundamentalvision/BEVFormer.
BevFormerPictures bevformer_pictures(const BevFormerOptions& options) {
  BevFormerPictures out;
  out.mean = {123.675F / 255, 116.28F / 255, 103.53F / 255};
  out.is_bgr = options.arch == "small" || options.arch == "base";
  if (out.is_bgr) {
    out.scale = options.arch == "small" ? 0.8 : 1;
    out.std = {1.0F / 255, 1.0F / 255, 1.0F / 255};
  } else {
    out.scale = options.arch == "micro" ? 1 : 0.5;
    out.std = {58.395F / 255, 57.12F / 255, 57.375F / 255};
  }
  if (options.image_scale > 0) out.scale = options.image_scale;
  return out;
}

int64_t queue_length(const BevFormerOptions& options) {
  if (options.queue_length > 0) return options.queue_length;
  if (options.arch == "base") return 4;
  return options.arch == "micro" ? 2 : 3;
}

std::string bevformer_misfit(const Schema& schema) {
  namespace n = nuscenes;
  std::vector<std::string> wanted = {n::keyframe::kScene, n::keyframe::kBoxLidar};
  for (const std::string_view camera : n::kCameras) {
    wanted.push_back(n::channel_field(camera, n::channel::kImage));
    wanted.push_back(n::channel_field(camera, n::channel::kIntrinsics));
  }
  wanted.push_back(n::channel_field(n::kLidar, n::channel::kEgoToGlobal));
  for (const std::string& name : wanted) {
    if (schema.index_of(name) >= 0) continue;
    return fmt::format(
        "the data set has no field '{}'; BEVFormer trains on nuScenes' keyframes with six cameras, "
        "as `ffconvert nuscenes` writes them",
        name);
  }
  return {};
}

nuscenes::Split open_keyframes(const TrainOptions& options, const std::string& name) {
  const std::filesystem::path& folder = options.data.only();
  nuscenes::Split split =
      nuscenes::open_split(folder, name, {.max_record_bytes = options.max_record_bytes});
  const std::string misfit = bevformer_misfit(split.keyframes.schema());
  if (!misfit.empty()) {
    throw dataset_error(split.keyframes.path(), ErrorCode::invalid_argument, misfit);
  }
  return split;
}

ImageSize scaled_picture_size(int64_t width, int64_t height, const BevFormerOptions& options) {
  const double scale = bevformer_pictures(options).scale;
  return {filled_up(static_cast<int64_t>(static_cast<double>(height) * scale)),
          filled_up(static_cast<int64_t>(static_cast<double>(width) * scale))};
}

ImageSize network_picture_size(const Dataset& keyframes, const BevFormerOptions& options) {
  const std::string field =
      nuscenes::channel_field(nuscenes::kCameras.front(), nuscenes::channel::kImage);
  std::vector<std::byte> bytes;
  if (!keyframes.read_field(0, keyframes.schema().require(field), bytes)) {
    throw dataset_error(keyframes.path(), ErrorCode::corrupt,
                        "the first keyframe has no '{}'; convert the data set with its pictures",
                        field);
  }
  const ImageInfo stored = read_image_info(bytes);
  return scaled_picture_size(stored.width, stored.height, options);
}

nuscenes::BoxOptions trained_objects() {
  const std::array<double, 6> range = BevFormerConfig{}.range;
  nuscenes::BoxOptions out;
  out.range = {.x_min = range[0], .y_min = range[1], .x_max = range[3], .y_max = range[4]};
  return out;
}

LoaderOptions keyframe_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                      c10::Device device, const nuscenes::Split& split,
                                      ImageSize size, bool is_training) {
  const BevFormerOptions& own = bevformer(options);
  const BevFormerPictures pictures = bevformer_pictures(own);
  nuscenes::KeyframeOptions keyframe;
  keyframe.cameras.image.transform = ScalePad{.size = size, .factor = pictures.scale};
  keyframe.cameras.image.output.mean = pictures.mean;
  keyframe.cameras.image.output.std = pictures.std;
  if (is_training && own.photometric_distortion) {
    keyframe.cameras.image.augmentations = {PhotoMetricDistortion{}};
  }
  keyframe.lidar.is_on = false;
  keyframe.boxes = trained_objects();
  keyframe.boxes.is_on = is_training;
  keyframe.can_bus = own.can_bus;
  keyframe.motion = true;
  keyframe.identity = true;
  LoaderOptions out = common_loader_options(options, place, device);
  out.image_field = out.label_field = "";
  out.fields = nuscenes::keyframe_fields(split, keyframe);
  out.sampler.order = Order::sequential;
  out.io.read_ahead_epochs = false;  // the next one has other windows, or there is none
  return out;
}

WindowSource::WindowSource(nuscenes::Windows windows, LoaderOptions options,
                           std::string fingerprint, int64_t limit_batches, c10::Device device)
    : windows_(std::move(windows)),
      fingerprint_(std::move(fingerprint)),
      seed_(options.sampler.seed),
      source_(windows_.frames, window_options(std::move(options)), limit_batches, device) {}

LoaderOptions WindowSource::window_options(LoaderOptions options) const {
  options.batch_size *= windows_.length;
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
                   "the run had other keyframes: it was at '{}', but the place here is '{}'; give "
                   "the options and the data of that run, or start a new run",
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

namespace {

constexpr int64_t kNumCameras = 6;
constexpr double kPi = std::numbers::pi;

// -pi .. pi
at::Tensor wrapped(const at::Tensor& angle) {
  return at::remainder(angle + kPi, 2 * kPi) - kPi;
}

// Camera `number` of six, 60 degrees apart, that see 90 degrees each, 1.5 m below the lidar.
at::Tensor camera_matrix(int64_t number, double height, double width) {
  const double yaw = static_cast<double>(number) * kPi / 3;
  const double ahead_x = std::sin(yaw), ahead_y = std::cos(yaw);
  const double right_x = ahead_y, right_y = -ahead_x;
  const double focal = width / 2;
  at::Tensor m = at::zeros({4, 4}, at::kFloat);
  // Times depth: u = focal * right + width / 2 * ahead, v = focal * down + height / 2 * ahead.
  m[0][0] = focal * right_x + width / 2 * ahead_x;
  m[0][1] = focal * right_y + width / 2 * ahead_y;
  m[1][0] = height / 2 * ahead_x;
  m[1][1] = height / 2 * ahead_y;
  m[1][2] = -focal;
  m[1][3] = -1.5 * focal;
  m[2][0] = ahead_x;
  m[2][1] = ahead_y;
  m[3][3] = 1;
  return m;
}

}  // namespace

std::vector<BevFrame> frames_of(const DeviceBatch& batch, int64_t length, bool is_bgr) {
  const auto by_frame = [&](const char* field) {
    return batch.field(field).unflatten(0, {batch.size, length});
  };
  at::Tensor images = by_frame("images");
  if (is_bgr) images = images.flip({3});
  const at::Tensor matrices = by_frame("lidar_to_image").to(at::kDouble);
  const at::Tensor motion = by_frame("motion");
  const at::Tensor has_previous = by_frame("has_previous");
  std::vector<BevFrame> frames;
  for (int64_t i = 0; i < length; ++i) {
    frames.push_back({.images = images.select(1, i),
                      .lidar2img = matrices.select(1, i),
                      .can_bus = motion.select(1, i),
                      .has_previous = has_previous.select(1, i)});
  }
  return frames;
}

std::vector<Objects> objects_of(const DeviceBatch& batch, int64_t length) {
  const at::Tensor boxes = to_published_boxes(batch.field("boxes"));
  const at::Tensor& labels = batch.field("box_classes");
  const auto* offsets = batch.row_offsets("boxes").const_data_ptr<int64_t>();
  std::vector<Objects> out;
  for (int64_t sample = length - 1; sample < batch.size * length; sample += length) {
    const int64_t first = offsets[sample], count = offsets[sample + 1] - first;
    out.push_back(
        {.boxes = boxes.narrow(0, first, count), .labels = labels.narrow(0, first, count)});
  }
  return out;
}

at::Tensor to_published_boxes(const at::Tensor& boxes) {
  const std::vector<at::Tensor> b = boxes.unbind(1);
  return at::stack(
      {b[0], b[1], b[2] - b[5] * 0.5, b[4], b[3], b[5], wrapped(-b[6] - kPi / 2), b[7], b[8]}, 1);
}

at::Tensor from_published_boxes(const at::Tensor& boxes) {
  const std::vector<at::Tensor> b = boxes.unbind(1);
  return at::stack(
      {b[0], b[1], b[2] + b[5] * 0.5, b[4], b[3], b[5], wrapped(-b[6] - kPi / 2), b[7], b[8]}, 1);
}

DeviceBatch noise_windows(int64_t batch_size, int64_t length, int64_t height, int64_t width,
                          int64_t num_objects, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const int64_t frames = batch_size * length, rows = frames * num_objects;
  std::vector<at::Tensor> cameras;
  for (int64_t i = 0; i < kNumCameras; ++i) {
    cameras.push_back(camera_matrix(i, static_cast<double>(height), static_cast<double>(width)));
  }
  at::Tensor boxes = at::rand({rows, 9}, generator, at::kFloat);
  boxes.narrow(1, 0, 2).mul_(60).sub_(30);
  boxes.narrow(1, 3, 3).add_(1);
  const at::Tensor offsets = at::arange(frames + 1, at::kLong) * num_objects;
  return {
      .size = batch_size,
      .fields = {
          {.name = "images",
           .values = at::randn({frames, kNumCameras, 3, height, width}, generator, at::kFloat)},
          {.name = "lidar_to_image",
           .values = at::stack(cameras).unsqueeze(0).repeat({frames, 1, 1, 1})},
          {.name = "motion", .values = at::zeros({frames, 18}, at::kDouble)},
          {.name = "has_previous", .values = at::arange(frames, at::kLong).remainder(length).ne(0)},
          {.name = "boxes", .values = boxes, .row_offsets = offsets},
          {.name = "box_classes",
           .values = at::arange(rows, at::kLong).remainder(10),
           .row_offsets = offsets}}};
}

namespace {

constexpr uint8_t kGridMaskStream = 129;  // none of the loader's, 0 .. 127, nor of the step's, 128

// [side] 1 on a line. Lines are drawn on half as many pixels again, whose middle is taken; behind
// the last whole period there is none.
at::Tensor lines(int64_t side, int64_t period, int64_t breadth, int64_t first) {
  const int64_t drawn = side * 3 / 2;
  at::Tensor out = at::zeros({drawn}, at::kFloat);
  for (int64_t i = 0; i < drawn / period; ++i) {
    const int64_t begin = period * i + first;
    const int64_t end = std::min(begin + breadth, drawn);
    if (begin < end) out.narrow(0, begin, end - begin).fill_(1);
  }
  return out.narrow(0, (drawn - side) / 2, side);
}

}  // namespace

at::Tensor draw_grid_mask(int64_t height, int64_t width, double probability,
                          CounterRandom& random) {
  if (random.uniform() >= probability || height < 3) return {};
  const int64_t period = 2 + random.below(height - 2);
  const int64_t breadth = std::clamp<int64_t>((period + 1) / 2, 1, period - 1);
  const int64_t first_row = random.below(period);
  const int64_t first_column = random.below(period);
  const at::Tensor rows = lines(height, period, breadth, first_row);
  const at::Tensor columns = lines(width, period, breadth, first_column);
  return at::maximum(rows.unsqueeze(1), columns.unsqueeze(0));
}

at::Tensor cover_with_grids(const at::Tensor& images, double probability, uint64_t seed,
                            int64_t epoch, std::span<const int64_t> keyframes) {
  std::vector<at::Tensor> samples;
  for (int64_t i = 0; i < images.size(0); ++i) {
    CounterRandom random({seed, epoch, keyframes[i]}, kGridMaskStream);
    const at::Tensor mask = draw_grid_mask(images.size(3), images.size(4), probability, random);
    samples.push_back(images[i]);
    if (mask.defined()) samples.back() = samples.back() * mask.to(images.device());
  }
  return at::stack(samples);
}

}  // namespace ffkit
