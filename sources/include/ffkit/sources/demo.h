// Made-up data, to try things out. Throws Error with reason and remedy. describe() declares the
// options, which must outlive the table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Generated pictures of textured shapes that a network can learn. Shape, texture and number of
// shapes give the class; colours, places, sizes, rotations and noise are random. The seed of
// `conversion` is used.
struct DemoOptions {
  int64_t num_classes = 10;  // 2 .. 1152
  int64_t num_train = 2000;  // pictures, 1 or more; classes take turns
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 64;         // width and height in pixels, 16 .. 2048
  ImageStorage images;
};
void describe(DemoOptions& options, OptionTable& table);
std::unique_ptr<Source> make_demo(const DemoOptions& options, const ConvertOptions& conversion);

// Made-up persons in records of open_persons(): figures with 17 joints like MuPoTS, one in each
// picture, 2.5 to 7 m from a known camera.
struct DemoPoseOptions {
  int64_t num_train = 2000;  // pictures, 1 or more
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 128;        // width and height in pixels, 32 .. 2048
  ImageStorage images;       // without a change of size
};
std::unique_ptr<Source> make_demo_pose(const DemoPoseOptions& options,
                                       const ConvertOptions& conversion);

// A made-up nuScenes set that a detector can learn: a vehicle drives along a road, with five to
// nine objects of seven classes around it, seen by six cameras and a lidar; the radars measure
// nothing. The constructor writes a root in the official layout, which open_nuscenes() reads with
// its default options; records, facts and options do not depend on the folder. Of `conversion`,
// seed, threads and cancel are used.
struct DemoNuScenesOptions {
  int64_t num_train_scenes = 60;  // 1 .. 700
  int64_t num_val_scenes = 12;    // 0 .. 150; 0: no val split
  int64_t num_keyframes = 10;     // of a scene, half a second apart, 2 .. 100
  int64_t width = 320;  // of pictures, 64 .. 1600, a multiple of 16; the height is 9/16 of it
  // The folder of the root: new, empty, or with the root of the same options, which is used again.
  // Empty: a temporary folder in $TMPDIR or /tmp, which the destructor of the source removes.
  std::filesystem::path root;
  ImageStorage images;
};
void describe(DemoNuScenesOptions& options, OptionTable& table);
// Throws Error(invalid_argument) for numbers out of range and for a root folder with anything else,
// Error(io), Error(cancelled). An unfinished root is removed.
std::unique_ptr<Source> make_demo_nuscenes(const DemoNuScenesOptions& options,
                                           const ConvertOptions& conversion);

}  // namespace ffkit
