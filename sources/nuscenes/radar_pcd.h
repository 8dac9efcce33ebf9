// Radar files of nuScenes: binary PCD
// (pointclouds.org/documentation/tutorials/pcd_file_format.html) of 18 fields of mixed widths, 43
// bytes a point. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ffkit::nuscenes {

// The points of `file`, 18 numbers each in the order of kRadarFields, unfiltered; every one of the
// file's numbers is a float exactly. A file whose first point has a NaN is nuScenes' way to say
// that there are none: empty, as in the devkit. Up to 64 KiB of anything behind the points is
// passed over (nuScenes' files have a byte there). Throws Error(corrupt, unsupported), without a
// path, for other fields, widths or types, a height other than 1, text instead of binary data, and
// points that are cut short.
std::vector<float> read_radar_pcd(std::span<const std::byte> file);

}  // namespace ffkit::nuscenes
