// Makes a nuScenes data root that is made up: ffkit_make_nuscenes_root FOLDER [KEYFRAMES], the
// latter with files of nuScenes' own sizes.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "nuscenes/nuscenes_root.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(
        stderr,
        "ffkit_make_nuscenes_root: error: give a folder, and maybe the number of keyframes\n");
    return 2;
  }
  try {
    if (argc == 2) {
      ffkit::testing::write_nuscenes_root(argv[1]);
      return 0;
    }
    ffkit::testing::write_nuscenes_root(
        argv[1],
        {.scenes = {"scene-0061"},
         .keyframes = std::atoi(argv[2]),
         .lidar_sweeps = 9,
         .camera_sweeps = 0,
         .radar_sweeps = 6,
         .instances = 70,
         .lifetime = 18},
        {.image_bytes = 150'000, .lidar_points = 34'000, .radar_points = 60});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ffkit_make_nuscenes_root: error: %s\n", error.what());
    return 1;
  }
}
