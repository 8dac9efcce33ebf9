// ImageNet as it comes. Throws Error with file, reason and remedy.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

struct ImageNetOptions {
  // "train", "val", "test": what to convert; empty: all that is there.
  std::vector<std::string> splits;
  // First compares the MD5 sums of the archives with the official ones: reads all of them.
  // Error(corrupt) for another sum, Error(invalid_argument) without archives.
  bool check_archives = false;
  // Accepts missing flat validation pictures, with a note that counts them; otherwise they are
  // Error(invalid_argument).
  bool allow_partial = false;
  ImageStorage images;
};

// ImageNet (ILSVRC2012): official archives (read in place, never unpacked), extracted, or Kaggle's
// copy, in any mixture. The first of notes() says what was found.
//
//   train    ILSVRC2012_img_train.tar    or   train/<wnid>/*     or   train/<wnid>.tar
//   val      ILSVRC2012_img_val.tar      or   val/*, labelled by the devkit or LOC_val_solution.csv
//                                             or   val/<wnid>/*
//   test     ILSVRC2012_img_test*.tar    or   test/*
//   lists    ILSVRC2012_devkit_t12.tar.gz, ILSVRC2012_devkit_t12/, LOC_synset_mapping.txt,
//            LOC_val_solution.csv
//
// All in `path`, or in Kaggle's folders: path[/ILSVRC]/Data/CLS-LOC/{train,val,test}, with the
// lists there or in a folder above. `path` may also be the folder CLS-LOC, train, val or test.
//
// Classes: the sorted leaf wnids of the devkit's meta.mat; else those of LOC_synset_mapping.txt;
// else the 1,000 of ILSVRC2012. Label: position of the picture's wnid among them, also for a subset
// of classes; -1 for test pictures, because their labels are not public. Id:
// "n01440764/n01440764_10026.JPEG", "ILSVRC2012_val_00000001.JPEG".
std::unique_ptr<Source> open_imagenet(const std::filesystem::path& path,
                                      const ImageNetOptions& options = {});

}  // namespace ffkit
