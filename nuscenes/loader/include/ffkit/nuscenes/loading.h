// Batches of nuScenes keyframes: cameras, aggregated point clouds, boxes, and the matrices that
// join them, as fields of a Loader.
//
//   const auto split = ffkit::nuscenes::open_split("/fast/nuscenes", "train");
//   ffkit::LoaderOptions options{.batch_size = 4, .image_field = "", .label_field = ""};
//   options.fields = ffkit::nuscenes::keyframe_fields(split, {});
//   ffkit::Loader loader(split.keyframes, options);
//
//   field            shape of a batch of B   what
//   images           [B, C, 3, H, W]         the C cameras
//   intrinsics       [B, C, 3, 3] f32        for the pixels of `images`, after resize, crop and
//                                            flip
//   lidar_to_camera  [B, C, 4, 4] f32        from the lidar frame to each camera's, at its own time
//   lidar_to_image   [B, C, 4, 4] f32        intrinsics * lidar_to_camera
//   lidar_to_global  [B, 4, 4] f64           from the lidar frame
//   points           [sum of rows, 6] f32    x y z intensity ring time lag; see sweeps.h
//   radar_points     [sum of rows, 19] f32   the 18 columns of kRadarFields, time lag
//   boxes            [sum of rows, 9] f32    centre x y z, size l w h, yaw, velocity x y
//   box_classes      [sum of rows] i64       position in kClasses
//   timestamp        [B] i64                 microseconds
//   can_bus          [B, 18] f64             when asked for; of BEVFormer: position 3, orientation
//                                            4, acceleration 3, rotation rate 3, velocity 3, 0, 0
//   motion           [B, 18] f64             when asked for, in place of can_bus: BEVFormer's
//                                            vector as its network takes it; see
//                                            KeyframeOptions::motion
//   with identity:
//   sample_token, scene_token                texts (Batch::strings())
//   frame_index      [B] i64                 the keyframe's place in its scene, from 0
//   with allow_missing, whether the conversion had the file:
//   camera_valid     [B, C] u8
//   lidar_valid      [B] u8
//   radar_valid      [B, 5] u8               as kRadars
//
// The lidar frame is the augmented one. Boxes and x y z of radar points are in this frame; the
// other columns of radar points are as stored.
//
// All random numbers of a sample come from its SampleKey. So pictures, points, boxes and matrices
// agree, for any number of threads and ranks. Thread-safe as field decoders are.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/sweeps.h>

namespace ffkit::nuscenes {

// Augmentation of a scene in bird's-eye view: rotates, scales and mirrors points and boxes of a
// keyframe together, about the lidar.
//
//   p' = flip * scale * rotation * p
//
// Equals GlobalRotScaleTrans and RandomFlip3D of mmdetection3d, in this order. It changes the
// lidar's frame, so matrices from this frame to the cameras undo it first. Pure functions:
// thread-safe.
struct BevAugmentation {
  double rotation_min = 0;  // radians about z, from x to y, min <= max
  double rotation_max = 0;
  double scale_min = 1;  // 0 < min <= max
  double scale_max = 1;
  double flip_x_probability = 0;  // x becomes -x
  double flip_y_probability = 0;  // y becomes -y
};

// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const BevAugmentation& augmentation);

struct DrawnBev {
  double rotation = 0;
  double scale = 1;
  bool flip_x = false;
  bool flip_y = false;

  // Moves points.
  [[nodiscard]] Transform matrix() const;
  // The way back.
  [[nodiscard]] Transform inverse_matrix() const;
  // centre, size l w h, yaw, velocity x y: moves the centre, scales the size, rotates yaw and
  // velocity, and scales the velocity.
  [[nodiscard]] std::array<float, 9> operator()(const std::array<float, 9>& box) const;
};

// The augmentation of a sample with this key, for all its fields.
DrawnBev draw(const BevAugmentation& augmentation, const SampleKey& key);

// A converted split: its keyframes, and the sweeps between them, if they were converted.
struct Split {
  Dataset keyframes;
  std::optional<Dataset> sweeps = {};
};

// `path` is the folder that ffconvert wrote; `split` as for split_there(). Throws like
// Dataset::open. `options` apply to every shard of both.
Split open_split(const std::filesystem::path& path, const std::string& split,
                 const ShardReaderOptions& options = {});

struct CameraOptions {
  std::vector<std::string> channels{kCameras.begin(), kCameras.end()};  // empty: no pictures
  // Its transform must be a ResizeCrop or a ScalePad; each camera of a sample has its own random
  // numbers. With a ResizeCrop, the frames of a window share the random numbers of transform and
  // augmentations; with a ScalePad, each frame has its own, as in BEVFormer.
  ImageOptions image{.transform = ResizeCrop{}};
};

struct PointOptions {
  bool is_on = true;
  // Number of clouds of a channel, including the keyframe's, 1 .. 100. There are fewer at the
  // beginning of a scene, and if fewer were converted.
  int num_sweeps = 10;
  double min_distance = 1;  // metres; see sweeps.h
  // Largest number of points in a sample; if there are more, the oldest are left out. 0: 35,000
  // points for each lidar sweep and 125 for each radar sweep, which is enough for nuScenes; more
  // are Error(unsupported).
  int64_t max_points = 0;
  RowLayout layout = RowLayout::ragged;
};

// A rectangle of the lidar frame's xy plane, in metres. Compared in f32 like mmdetection3d
// (ObjectRangeFilter, in_range_bev()): a centre on a side is outside.
struct BevRange {
  double x_min = -51.2;  // min < max
  double y_min = -51.2;
  double x_max = 51.2;
  double y_max = 51.2;
};

struct BoxOptions {
  bool is_on = true;
  bool only_valid = true;             // those with a lidar or radar point inside
  bool only_classes = true;           // those of the ten classes; the others have class -1
  bool zero_unknown_velocity = true;  // as mmdetection3d trains; false: NaN
  // Keeps boxes whose centre, in the (augmented) lidar frame, is inside; nothing: all boxes.
  std::optional<BevRange> range = {};
  int64_t max_boxes = 500;  // room for boxes of a sample; Error(unsupported) for one that has more
  RowLayout layout = RowLayout::ragged;
};

// The row of the CAN bus' pose messages for a keyframe, in BEVFormer. Scenes without messages have
// zeros.
enum class CanBusRule {
  none,      // no field `can_bus`
  last_row,  // the last row up to the keyframe: what the comments of BEVFormer's converter mean
  // Like its code (_get_can_bus_info() in tools/data_converter/nuscenes_converter.py of
  // fundamentalvision/BEVFormer): position and orientation from the last row before the keyframe,
  // the rest from the first row after it, which is the next keyframe's first row. For the last
  // keyframe of a scene, whose later rows are not converted, it is the last row.
  bevformer_code,
};

struct KeyframeOptions {
  CameraOptions cameras = {};
  PointOptions lidar = {};
  PointOptions radar{.is_on = false, .num_sweeps = 1, .min_distance = 0};  // of the five radars
  RadarFilter radar_filter = {};  // the devkit's default; kAllRadarPoints: no filter
  BoxOptions boxes = {};
  BevAugmentation bev = {};
  CanBusRule can_bus = CanBusRule::none;
  // The field `motion`, like get_data_info() of BEVFormer's CustomNuScenesDataset; to_differences()
  // in windows.h converts it for the network.
  //   0-2    translation of LIDAR_TOP's ego pose, global frame
  //   3-6    its quaternion w, x, y, z
  //   7-15   acceleration, rotation rate, velocity by the rule `can_bus`; zeros for the rule none,
  //          and where the set or the scene has no CAN bus
  //   16     yaw of that pose in radians, 0 .. 2 pi
  //   17     the same in degrees, 0 .. 360
  // There is no field `can_bus` then.
  bool motion = false;
  bool identity = false;  // the fields sample_token, scene_token and frame_index
  // For a set that was converted with allow_partial. A missing picture is zeros (with the matrices
  // of a 1600 x 900 picture), and a missing cloud has no points; camera_valid, lidar_valid and
  // radar_valid mark them. False: such a keyframe is a bad sample (LoaderOptions::bad_samples).
  // Missing sweeps never have points.
  bool allow_missing = false;
};

// The fields listed above, except those that are switched off, for a Loader of `split.keyframes` or
// a subset of it; if `split.keyframes` is a subset, its whole split is used. The decoders read
// sweeps and earlier keyframes themselves, and announce the sweeps of a sample to the kernel when
// its read is planned. Throws Error(invalid_argument) for options out of range and sweeps of
// another split, and Error(not_found) if the conversion left out something, such as sweeps.
std::vector<BatchField> keyframe_fields(const Split& split, const KeyframeOptions& options);

}  // namespace ffkit::nuscenes
