// From what a detector gives to the official results file, as mmdetection3d 0.17.1 goes
// (NuScenesDataset._format_bbox(), output_to_nusc_box(), lidar_nusc_box_to_global()), and BEVFormer
// with it.
//
//   boxes in a keyframe's lidar frame ─ make_submission() ─▶ Submission ─┬─ evaluate(), detection.h
//                                                                        └─ write_submission()
//                                                      results.json: for ffeval and the devkit ◀──┘
//
// Plain values and pure functions but for the file: thread-safe.
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

// The detections in the global frame, by way of the ego's, in the order given. Reads token and
// poses of the keyframes.
//
// A box whose centre is farther from the vehicle, in the ego frame's xy plane, than its class range
// is left out. Of the others of a sample the best config.max_boxes_per_sample stay. The attribute
// follows from class and speed:
//
//   faster than 0.2 m/s   vehicle.moving (the vehicles), cycle.with_rider (bicycle, motorcycle),
//                         pedestrian.moving
//   else                  vehicle.parked, of a bus vehicle.stopped, cycle.without_rider,
//                         pedestrian.standing
//   barrier, traffic_cone none
//
// `meta` says that cameras and external data (the CAN bus) were used, as BEVFormer's. evaluate()
// wants every keyframe of the split, those without boxes too. Throws what Dataset::read_field
// throws, and Error(invalid_argument) for a keyframe that is given twice or is not there, a class
// that is none, and a number that is not finite.
Submission make_submission(const Dataset& keyframes, std::span<const KeyframeDetections> detections,
                           const DetectionConfig& config = {});

// Writes the official JSON, in so many digits that read_submission() gives the same numbers. The
// file appears when it is complete: until then it is `path`.tmp, which is removed when writing
// fails. Replaces a file that was there. num_points is not written. Throws Error(io), and
// Error(invalid_argument) for a number that is not finite and a class or attribute that is none.
void write_submission(const std::filesystem::path& path, const Submission& submission);

}  // namespace ffkit::nuscenes
