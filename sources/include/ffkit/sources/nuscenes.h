// nuScenes. Throws Error with file, reason and remedy. describe() declares the options, which must
// outlive the table.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/schema.h>
#include <ffkit/nuscenes/sweeps.h>

namespace ffkit {

// nuScenes: path/<version>/*.json (the tables) with the files they name below `path`. Each official
// split of the version with existing scenes becomes a split of keyframes, with "<split>_sweeps" and
// "<split>_maps" beside it; ffkit/nuscenes/record.h describes their records. Records refer to each
// other by number, so none is left out or shuffled.
//
// Tables and files are checked first. Missing or empty files are Error(not_found) that counts them
// by sensor. With allow_partial, their picture or points are null instead; missing sweeps, and
// keyframes without any file, are left out; damaged files are null fields, too, with a line in the
// report. lidarseg, panoptic, CAN bus and map masks are converted if they exist; notes() lists
// them.
struct NuScenesOptions {
  // "v1.0-trainval", "v1.0-test", "v1.0-mini", or a folder with splits.json; empty: the only one
  std::string version;
  std::vector<std::string> splits;  // to convert, official ones or those of splits.json; empty: all
  std::vector<std::string> cameras;  // channels to take, "CAM_FRONT"
  bool all_cameras = true;           // whatever `cameras` says
  bool radar = true;
  int lidar_sweeps = 10;  // frames before each keyframe, 0 .. 100; 0: none
  int radar_sweeps = 5;
  int camera_sweeps = 0;
  bool allow_partial = false;
  DType lidar_dtype = DType::f32;  // or f16
  nuscenes::RadarFilter radar_filter = nuscenes::
      kAllRadarPoints;  // of stored points; the default constructed one is the devkit's default
  ImageStorage images;  // intrinsics are scaled with pictures that are resized; ExifUse::ignore
};
void describe(NuScenesOptions& options, OptionTable& table);
std::unique_ptr<Source> open_nuscenes(const std::filesystem::path& path,
                                      const NuScenesOptions& options = {});

}  // namespace ffkit
