#include "tasks/bevformer/data/bevformer_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/trainer/batch_source.h>

#include "base/make_error.h"
#include "tasks/bevformer/network/bevformer_config.h"

namespace ffkit {
namespace {

constexpr int64_t kPictureMultiple = 32;

int64_t filled_up(int64_t side) {
  return (side + kPictureMultiple - 1) / kPictureMultiple * kPictureMultiple;
}

nuscenes::CanBusRule rule_of(BevFormerCanBus can_bus) {
  switch (can_bus) {
    case BevFormerCanBus::last_row:
      return nuscenes::CanBusRule::last_row;
    case BevFormerCanBus::as_published:
      return nuscenes::CanBusRule::bevformer_code;
    case BevFormerCanBus::none:
      break;
  }
  return nuscenes::CanBusRule::none;
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
  const std::string mini = "mini_" + name;
  const bool is_mini = !has_split(folder, name) && has_split(folder, mini);
  nuscenes::Split split = nuscenes::open_split(folder, is_mini ? mini : name,
                                               {.max_record_bytes = options.max_record_bytes});
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
  keyframe.can_bus = rule_of(own.can_bus);
  keyframe.motion = true;
  keyframe.identity = true;
  LoaderOptions out = common_loader_options(options, place, device);
  out.image_field = out.label_field = "";
  out.fields = nuscenes::keyframe_fields(split, keyframe);
  out.sampler.order = Order::sequential;
  return out;
}

}  // namespace ffkit
