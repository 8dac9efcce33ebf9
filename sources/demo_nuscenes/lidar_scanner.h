// What the lidar of the vehicle measures of a scene. Pure functions: thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/nuscenes/geometry.h>

#include "demo_nuscenes/scene.h"

namespace ffkit::nuscenes::demo {

// [n, 5] f32 in the lidar's frame: x, y, z, intensity 0 .. 255, ring 0 .. 31. Some hundred points:
// on the ground up to 30 m away, and on the faces of objects up to 50 m away that nothing hides.
// Points of objects lie 2 cm below the face, inside.
std::vector<float> scan(const Scene& scene, double seconds, const Transform& lidar_to_global);

// How many of the points lie in the box, which is in the lidar's frame.
int64_t count_points(const std::vector<float>& points, const Box& box_in_lidar);

}  // namespace ffkit::nuscenes::demo
