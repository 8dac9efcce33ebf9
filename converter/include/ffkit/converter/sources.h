// The sources there are, for callers who know which one they want. All throw Error with file,
// reason and remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>

namespace ffkit {

struct ImageNetOptions {
  // "train", "val", "test": what to convert; empty: all that is there.
  std::vector<std::string> splits;
  // Compare the MD5 sums of the archives with those of the official ones first: reads them whole. Error(corrupt) for another sum,
  // Error(invalid_argument) when there are no archives.
  bool check_archives = false;
};

// ImageNet (ILSVRC2012) as it comes: official archives (read in place, never unpacked), extracted, or Kaggle's copy, in any mixture. What was
// found is the first of notes().
//
//   train    ILSVRC2012_img_train.tar    or   train/<wnid>/*
//   val      ILSVRC2012_img_val.tar      or   val/*, labelled by the devkit or LOC_val_solution.csv   or   val/<wnid>/*
//   test     ILSVRC2012_img_test*.tar    or   test/*
//   lists    ILSVRC2012_devkit_t12.tar.gz, ILSVRC2012_devkit_t12/, LOC_synset_mapping.txt, LOC_val_solution.csv
//
// All in `path`, or in Kaggle's folders: path[/ILSVRC]/Data/CLS-LOC/{train,val,test}, with the lists there or in a folder above. `path` may be
// the folder CLS-LOC, or train, val or test alone.
//
// Classes: the sorted leaf wnids of the devkit's meta.mat; else those of LOC_synset_mapping.txt; else the 1,000 of ILSVRC2012. Label: position of
// the picture's wnid among them, also where pictures of fewer classes are there; -1 for test pictures, whose labels are not public. Id:
// "n01440764/n01440764_10026.JPEG", "ILSVRC2012_val_00000001.JPEG".
std::unique_ptr<Source> open_imagenet(const std::filesystem::path& path,
                                      const ImageNetOptions& options = {});

// Folders of pictures: path/<split>/<class>/*, or path/<class>/*, which becomes one split "train".
// Classes are the sorted names of the class folders of all splits together. Splits whose name
// begins with "train" are training splits. Id: "<class>/<file>".
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& path);

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
};
std::unique_ptr<Source> make_demo(const DemoOptions& options);

}  // namespace ffkit
