// The boxes of a keyframe as its record has them. Pure functions of the tables; thread-safe.
#pragma once

#include <ffkit/converter/source.h>
#include <ffkit/nuscenes/geometry.h>

#include "nuscenes/tables/tables.h"

namespace ffkit::nuscenes {

// m/s along the global axes: the devkit's NuScenes.box_velocity(), operation by operation, so that
// the numbers are its. The difference between the annotations before and after, or between this one
// and the one that there is; NaN without either, and when they lie more than 3 s (1.5 s) apart.
Vector3 box_velocity(const Tables& tables, Row annotation);

// Sets the fields boxes/* of `record`, in this order, from position `first_field` on;
// `lidar_calibration` and `lidar_pose` are of the keyframe's LIDAR_TOP. The values live in
// `buffers`.
void set_boxes(const Tables& tables, Row sample, const PoseNumbers& lidar_calibration,
               const PoseNumbers& lidar_pose, RecordBuilder& record, size_t first_field,
               SampleBuffers& buffers);

}  // namespace ffkit::nuscenes
