// A scene from above, in the vehicle's frame at the lidar's time: the vehicle looks up.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draw/canvas.h"
#include "scenes/scene_record.h"

namespace ffkit {

// Draws it to `place`, a square of 100 m, with a legend: lidar points coloured by distance; of the
// radars crosses with their velocity, of the points that the devkit keeps by default; boxes with
// heading, a name where it covers no other one (those without are counted), and an arrow to where
// they are in one second, with dashes where less than 40 % can be seen. Returns what is missing,
// which is written there too.
// `older_points`: lidar points of frames before, drawn below, x y z in the vehicle's frame at the
// keyframe's time.
std::vector<std::string> draw_from_above(Canvas& canvas, const Rect& place, const Keyframe& record,
                                         const std::vector<SeenBox>& boxes,
                                         std::span<const nuscenes::Vector3> older_points = {});

}  // namespace ffkit
