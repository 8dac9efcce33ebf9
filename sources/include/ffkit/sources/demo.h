// Made-up data, for trying things out without any. Throws Error with reason and remedy.
// describe() declares what a user may set; the options must outlive the table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Generated pictures of textured shapes that a network can learn, for trying things out without
// data. The class is given by shape, texture and number of shapes; colours, places, sizes, turns
// and noise are random. `conversion` is what the pictures are converted with: its seed draws them.
struct DemoOptions {
  int64_t num_classes = 10;  // 2 .. 1152
  int64_t num_train = 2000;  // pictures, 1 or more; classes take turns
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 64;         // width and height in pixels, 16 .. 2048
  ImageStorage images;
};
void describe(DemoOptions& options, OptionTable& table);
std::unique_ptr<Source> make_demo(const DemoOptions& options, const ConvertOptions& conversion);

// Made-up persons in records of open_persons(): figures of 17 joints as MuPoTS has them, before a
// camera that is known, one in each picture, 2.5 to 7 m away.
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
// nothing. A root in the official layout is written when the source is made, and read by
// open_nuscenes() with its default options; records, facts and options do not depend on the folder.
// Of `conversion` the seed draws the scenes, and the threads write the root until it is cancelled.
struct DemoNuScenesOptions {
  int64_t num_train_scenes = 60;  // 1 .. 700
  int64_t num_val_scenes = 12;    // 0 .. 150; 0: no val split
  int64_t num_keyframes = 10;     // of a scene, half a second apart, 2 .. 100
  int64_t width = 320;  // of pictures, 64 .. 1600, a multiple of 16; the height is 9/16 of it
  // Where the root is kept: a new or empty folder, or one that holds the root of the same numbers,
  // which is used as it is. Empty: a temporary folder in $TMPDIR or /tmp, which the source removes
  // in its destructor.
  std::filesystem::path root;
  ImageStorage images;
};
void describe(DemoNuScenesOptions& options, OptionTable& table);
// Throws Error(invalid_argument) for numbers out of range and for a root folder that holds anything
// else, Error(io), Error(cancelled). What was written of an unfinished root is removed.
std::unique_ptr<Source> make_demo_nuscenes(const DemoNuScenesOptions& options,
                                           const ConvertOptions& conversion);

}  // namespace ffkit
