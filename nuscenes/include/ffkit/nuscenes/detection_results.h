// Converts detections to the official results file, like mmdetection3d 0.17.1
// (NuScenesDataset._format_bbox(), output_to_nusc_box(), lidar_nusc_box_to_global()) and BEVFormer.
//
//   boxes in a keyframe's lidar frame ─ make_submission() ─▶ Submission ─┬─ evaluate(), detection.h
//                                                                        └─ write_submission()
//                                                      results.json: for ffeval and the devkit ◀──┘
//
// Plain values and pure functions, except for the file: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/detection.h>

namespace ffkit::nuscenes {

struct LidarDetection {
  // In the frame of the keyframe's LIDAR_TOP, as keyframe::kBoxLidar: centre x y z of the volume,
  // size l w h in metres, yaw in radians, velocity x y in m/s.
  std::array<double, 9> box{};
  int class_number = 0;  // position in kClasses
  double score = 0;
};

struct KeyframeDetections {
  int64_t keyframe = 0;  // number of the record in the data set
  std::vector<LidarDetection> boxes;
};

// The detections in the global frame, converted through the ego frame, in the given order. Reads
// token and poses of the keyframes.
//
// A box is left out if its centre is farther from the vehicle, in the xy plane of the ego frame,
// than the range of its class. Of the other boxes of a sample, the best config.max_boxes_per_sample
// stay. The attribute follows from class and speed:
//
//   faster than 0.2 m/s   vehicle.moving (the vehicles), cycle.with_rider (bicycle, motorcycle),
//                         pedestrian.moving
//   else                  vehicle.parked, of a bus vehicle.stopped, cycle.without_rider,
//                         pedestrian.standing
//   barrier, traffic_cone none
//
// `meta` names cameras and external data (the CAN bus), like BEVFormer's. evaluate() needs every
// keyframe of the split, also those without boxes. Throws errors of Dataset::read_field, and
// Error(invalid_argument) for a duplicate or missing keyframe, an unknown class, and a number that
// is not finite.
Submission make_submission(const Dataset& keyframes, std::span<const KeyframeDetections> detections,
                           const DetectionConfig& config = {});

// Writes the official JSON, with enough digits that read_submission() gives the same numbers. The
// file appears when it is complete, and replaces an older one; until then it is `path`.tmp, which
// is removed if writing fails. num_points is not written. Throws Error(io), and
// Error(invalid_argument) for a number that is not finite and an unknown class or attribute.
void write_submission(const std::filesystem::path& path, const Submission& submission);

}  // namespace ffkit::nuscenes
