// The sources there are, for callers who know which one they want. All throw Error with file,
// reason and remedy. `images` says how pictures are stored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>

namespace ffkit {

// ImageNet (ILSVRC2012): a folder with the official archives (read in place, never unpacked), or an
// extracted tree.
//
//   ILSVRC2012_img_train.tar   or   train/<wnid>/*           either split may be missing, not both
//   ILSVRC2012_img_val.tar     or   val/<wnid>/*  or  val/*  (flat, needs the devkit)
//   ILSVRC2012_devkit_t12.tar.gz   or   ILSVRC2012_devkit_t12/
//
// Label: position of the wnid among the sorted leaf wnids of the devkit's meta.mat; without a
// devkit, among the sorted names of the class folders or archives. Id:
// "n01440764/n01440764_10026.JPEG", "ILSVRC2012_val_00000001.JPEG".
std::unique_ptr<Source> open_imagenet(const std::filesystem::path& path,
                                      const ImageStorage& images = {});

// Folders of pictures: path/<split>/<class>/*, or path/<class>/*, which becomes one split "train".
// Classes are the sorted names of the class folders of all splits together. Splits whose name
// begins with "train" are training splits. Id: "<class>/<file>".
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& path,
                                          const ImageStorage& images = {});

// All splits of the data set at `path`, of FFRecord v1 or ffkit's own: a data set folder, one split's folder, a folder of v1 files, or one
// file. Throws Error(not_found) for a folder without any, and as Dataset::open does.
std::vector<Dataset> open_splits(const std::filesystem::path& path);

// Data sets that are there already, v1 ones above all, each split a Dataset as open_splits() gives them; their records are taken over field by
// field. Splits whose name begins with "train" are training splits. All must have the same schema and, where they have any, the same classes:
// Error(invalid_argument) otherwise.
std::unique_ptr<Source> open_datasets(std::vector<Dataset> splits);

// Generated pictures of textured shapes that a network can learn, for trying things out without
// data. The class is given by shape, texture and number of shapes; colours, places, sizes, turns
// and noise are random.
struct DemoOptions {
  int64_t num_classes = 10;  // 2 .. 1152
  int64_t num_train = 2000;  // pictures, 1 or more; classes take turns
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 64;         // width and height in pixels, 16 .. 2048
  uint64_t seed = 0;
  ImageStorage images;
};
std::unique_ptr<Source> make_demo(const DemoOptions& options);

}  // namespace ffkit
