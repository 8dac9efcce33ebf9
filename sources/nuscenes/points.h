// Points of nuScenes' files, of the lidar and of radars, and their labels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/schema.h>
#include <ffkit/nuscenes/sweeps.h>

namespace ffkit::nuscenes {

// Radar files of nuScenes: binary PCD
// (pointclouds.org/documentation/tutorials/pcd_file_format.html) of 18 fields of mixed widths, 43
// bytes a point. Pure functions.

// The points of `file`, 18 numbers each in the order of kRadarFields, unfiltered; every one of the
// file's numbers is a float exactly. A file whose first point has a NaN is nuScenes' way to say
// that there are none: empty, as in the devkit. Up to 64 KiB of anything behind the points is
// passed over (nuScenes' files have a byte there). Throws Error(corrupt, unsupported), without a
// path, for other fields, widths or types, a height other than 1, text instead of binary data, and
// points that are cut short.
std::vector<float> read_radar_pcd(std::span<const std::byte> file);

// Points and their labels, from nuScenes' files to tensor fields.

// All throw Error, without a path, for a file that is not what it claims to be. What they set lives
// in `buffers`, or is `file`, which must live as long.

// A .pcd.bin of the lidar, 5 f32 a point, as f32 [n, 5] or f16 [n, 5]. Of f16, coordinates are off
// by up to 2^-11 of their size: 3.1 cm from 64 m on; intensities and rings are exact.
void set_lidar_points(std::span<const std::byte> file, DType dtype, RecordBuilder& record,
                      size_t field, SampleBuffers& buffers);
// A radar's PCD file as f32 [n, 18]: the points that `filter` keeps.
void set_radar_points(std::span<const std::byte> file, RecordBuilder& record, size_t field,
                      SampleBuffers& buffers, const RadarFilter& filter = kAllRadarPoints);
// lidarseg's .bin as u8 [num_points].
void set_lidarseg(std::span<const std::byte> file, size_t num_points, RecordBuilder& record,
                  size_t field);
// panoptic's .npz, whose array `data` has integers below 65536, as u16 [num_points].
void set_panoptic(std::span<const std::byte> file, size_t num_points, RecordBuilder& record,
                  size_t field, SampleBuffers& buffers);

}  // namespace ffkit::nuscenes
