// Pictures and their masks. Throws Error with file, reason and remedy.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Pictures and their masks in separate folders. Files belong together if their paths below their
// folders are equal except for the ending and the suffix before it, if one is given. One record per
// picture:
//
//   image   the first field, whatever it is called: the picture
//   mask    the other fields, each an `image` whose bytes are the file's: nothing changes a number
//   id      the picture's path in the split, column
//
// Folders in the first field's folder with names of splits ("train", "validation"), or named by
// `splits`, are the splits; otherwise there is one split with the name of the folder, of the folder
// above it, or "train". With `lists`, each list is a split with the name of its file.
//
// If a name has no file in one of the folders, that is Error(not_found) with the number of such
// names; the same for a name of a list. Two files with the same name are Error(invalid_argument).
// If a mask is not a PNG of one channel, or has another size than its picture, the sample is bad;
// only headers are read. Links, hidden files and other endings are treated as in
// open_image_folder().
struct PairedFolder {
  std::string field;             // "mask"
  std::filesystem::path folder;  // below PairsOptions::root, or as given
};
struct PairsOptions {
  // The layout of a well-known data set; one of pair_layouts(), empty: none.
  //
  //   ade20k      root/images/{training,validation}, root/annotations/...
  //   cityscapes  root/leftImg8bit/<split>/<city>/*_leftImg8bit.png, and of root/gtFine the files
  //               *_gtFine_labelIds.png
  //   voc         root/JPEGImages, root/SegmentationClass, and the lists train and val of
  //               root/ImageSets/Segmentation; `splits` may name others of them
  std::string layout;
  std::filesystem::path root;
  // At least two, including those of the layout; the first is the picture. A folder that is given
  // here replaces the layout's folder of this field.
  std::vector<PairedFolder> folders;
  // By field: the part of file names after the common name, before the ending ("_gtFine_labelIds")
  // or with the ending ("_mask.png"). Files without it are left out, with a note. Has priority over
  // the layout.
  std::map<std::string, std::string> suffixes;
  // Text files with one name per line, with or without ending: only these are converted, in their
  // order. Below `root`, or a full path.
  std::vector<std::filesystem::path> lists;
  // The splits to convert; empty: all.
  std::vector<std::string> splits;
  // Fields whose colours are numbers, red + 256 green + 65536 blue: PNGs of three channels.
  std::vector<std::string> panoptic;
  bool skip_unpaired = false;     // names without all files are left out, with a note
  StoreAs store = StoreAs::jpeg;  // of the pictures; or dct
  // apply: pictures that EXIF data rotate are stored upright, as annotation tools show them
  ExifUse exif = ExifUse::ignore;
};
std::vector<std::string> pair_layouts();
// Throws Error(invalid_argument) for options that are wrong for any data.
void validate(const PairsOptions& options);
std::unique_ptr<Source> open_pairs(const PairsOptions& options);

}  // namespace ffkit
