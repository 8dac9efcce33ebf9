// nuScenes. Throws Error with file, reason and remedy.
// describe() declares what a user may set; the options must outlive the table.
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

// nuScenes: path/<version>/*.json (the tables) with the files they name below `path`. The official
// splits of the version whose scenes are there become one split each, of keyframes, with
// "<split>_sweeps" and "<split>_maps" beside it: ffkit/nuscenes/record.h says what their records
// hold. Records refer to each other by number: none is left out for what is wrong with it, none
// shuffled.
//
// Tables and files are checked first. Missing or empty files are an Error(not_found) that counts
// them by sensor, unless allow_partial: then their picture or points are null, sweeps without a
// file are left out, and so are keyframes of which no file is there; files that are damaged are
// then null fields too, with a line in the report. lidarseg, panoptic, CAN bus and map masks are
// taken when they are there; notes() says which.
struct NuScenesOptions {
  // "v1.0-trainval", "v1.0-test", "v1.0-mini", or a folder with splits.json; empty: the one that is
  // there
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
