// The records of a converted nuScenes set. Plain values and pure functions; thread-safe.
//
//   DST/<split>         a record a keyframe, in time order, scene by scene; never shuffled: records
//                       refer to each other by number
//   DST/<split>_sweeps  a record a frame between keyframes, once each, by scene, channel and time
//   DST/<split>_maps    a record a map mask; when there are such
//
//   keyframe 17 ── next ──▶ keyframe 18
//                              └─ LIDAR_TOP/sweeps: {1, 160} {1, 159} ... {0, 17} {1, 152} ...
//
// The sweeps are listed newest first: {1, n} is record n of <split>_sweeps, and {0, n} record n of
// <split>. Lengths are metres, times microseconds, quaternions qw, qx, qy, qz. A pose, f64 [7], is
// x, y, z, qw, qx, qy, qz as in the tables: it maps points from the sensor to the ego vehicle's
// frame, or from that to the global one. A field is null if the data set does not have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>

namespace ffkit::nuscenes {

// Fields of a keyframe.
namespace keyframe {
inline constexpr const char* kToken = "token";  // string, column: of the row in sample.json
inline constexpr const char* kScene = "scene";  // string, column: "scene-0061"
inline constexpr const char* kSceneToken = "scene_token";  // string
inline constexpr const char* kTimestamp = "timestamp";     // i64, column
// I64: number of the scene's keyframe before, -1 for none.
inline constexpr const char* kPrev = "prev";
inline constexpr const char* kNext = "next";          // i64: of the one after
inline constexpr const char* kLocation = "location";  // string: "singapore-onenorth"
inline constexpr const char* kVehicle = "vehicle";    // string: "n015"
inline constexpr const char* kLogfile = "logfile";    // string
inline constexpr const char* kMap = "map";            // i64: number in <split>_maps, -1 for none
inline constexpr const char* kBoxToken =
    "boxes/token";  // list of string [n]: of the rows in sample_annotation.json, in its order
inline constexpr const char* kBoxInstance = "boxes/instance";  // list of string [n]: tokens
inline constexpr const char* kBoxCategory = "boxes/category";  // list of string [n]: "vehicle.car"
// f64 [n, 10]: centre x, y, z, size w, l, h, rotation qw, qx, qy, qz, in the global frame as in the
// tables.
inline constexpr const char* kBoxGlobal = "boxes/global";
// f64 [n, 3]: m/s along the global x, y, z, like the devkit's box_velocity(): from the neighbours
// before and after; NaN without them or if they are too far apart in time.
inline constexpr const char* kBoxVelocity = "boxes/velocity";
// f32 [n, 9]: centre x, y, z (of the volume), size l, w, h, yaw, vx, vy in the frame of the
// keyframe's LIDAR_TOP. The yaw is that of the length axis about z, from x to y, as in
// mmdetection3d since 1.0.
inline constexpr const char* kBoxLidar = "boxes/lidar";
inline constexpr const char* kBoxClass =
    "boxes/class";  // i64 [n]: position in kClasses, -1 for none
inline constexpr const char* kBoxValid =
    "boxes/valid";  // u8 [n]: 1 when there is a lidar or radar point inside
inline constexpr const char* kBoxNumLidarPoints = "boxes/num_lidar_pts";  // i64 [n]
inline constexpr const char* kBoxNumRadarPoints = "boxes/num_radar_pts";  // i64 [n]
inline constexpr const char* kBoxVisibility =
    "boxes/visibility";  // i64 [n]: 1 (under 40 %) .. 4 (from 80 %), 0 unknown
inline constexpr const char* kBoxAttribute =
    "boxes/attribute";  // i64 [n]: position in kAttributes, -1 for none
}  // namespace keyframe

// Fields of a keyframe that every channel has: channel_field("CAM_FRONT", channel::kImage) is
// "CAM_FRONT/image".
namespace channel {
inline constexpr const char* kImage = "image";  // image: of cameras
// F64 [3, 3]: of cameras, for the picture as it is stored.
inline constexpr const char* kIntrinsics = "intrinsics";
// Tensor: of lidar and radars, see kLidarColumns and kRadarFields.
inline constexpr const char* kPoints = "points";
inline constexpr const char* kSensorToEgo = "sensor_to_ego";  // f64 [7]
// F64 [7]: where the vehicle was at `timestamp`.
inline constexpr const char* kEgoToGlobal = "ego_to_global";
inline constexpr const char* kTimestamp = "timestamp";  // i64
inline constexpr const char* kToken = "token";          // string: of the row in sample_data.json
inline constexpr const char* kFilename = "filename";    // string: in the data set's folder
// i64 [m, 2]: the earlier frames, newest first: {0, number in <split>} for a keyframe, {1, number
// in <split>_sweeps} for others. Only if such sweeps were converted.
inline constexpr const char* kSweeps = "sweeps";
// U8 [points]: of LIDAR_TOP, category index of each point.
inline constexpr const char* kLidarseg = "lidarseg";
// U16 [points]: of LIDAR_TOP, category index * 1000 + instance.
inline constexpr const char* kPanoptic = "panoptic";
}  // namespace channel

// Fields of a record of <split>_sweeps; the others are those of `channel` above, without a prefix.
namespace sweep {
inline constexpr const char* kToken = "token";  // string, column: of the row in sample_data.json
inline constexpr const char* kChannel = "channel";           // string, column
inline constexpr const char* kScene = "scene";               // string, column
inline constexpr const char* kTimestamp = "timestamp";       // i64, column
inline constexpr const char* kSampleToken = "sample_token";  // string: the keyframe it belongs to
// f32 [n, 18]: of radars. The lidar's are in channel::kPoints, which may be f16; one field has one
// dtype.
inline constexpr const char* kRadarPoints = "radar_points";
}  // namespace sweep

// Fields of a record of <split>_maps.
namespace map {
inline constexpr const char* kToken = "token";        // string, column: of the row in map.json
inline constexpr const char* kLocation = "location";  // string
inline constexpr const char* kFilename = "filename";  // string
inline constexpr const char* kMask = "mask";          // image
}  // namespace map

// X, y, z, intensity, ring: f32 [n, 5], or f16 when the conversion was asked for it.
inline constexpr int64_t kLidarColumns = 5;
// KRadarFields: f32 [n, 18], unfiltered unless the conversion was asked to.
inline constexpr int64_t kRadarColumns = 18;

// Which fields keyframes have.
struct KeyframeFields {
  std::vector<std::string> cameras;  // channels, in the order of kCameras
  bool radar = true;                 // all five
  DType lidar_dtype = DType::f32;    // f32 or f16
  bool lidar_sweeps = true;          // whether there is LIDAR_TOP/sweeps
  bool radar_sweeps = true;
  bool camera_sweeps = false;
  // CAN bus messages of the set, "pose", "zoesensors". can_bus_field() of each is f64 [m, k]: the
  // messages from the previous keyframe of the scene to this one, in time order; the manifest's
  // fact of the same name lists the columns. Null for scenes without messages.
  std::vector<std::string> can_bus;
};

// "CAM_FRONT/image"
std::string channel_field(std::string_view channel, std::string_view field);
// "can_bus/pose"
std::string can_bus_field(std::string_view message);

Schema keyframe_schema(const KeyframeFields& fields);
Schema sweep_schema(DType lidar_dtype = DType::f32);
Schema map_schema();

// "train_sweeps", "train_maps"
std::string sweeps_split(std::string_view split);
std::string maps_split(std::string_view split);

}  // namespace ffkit::nuscenes
