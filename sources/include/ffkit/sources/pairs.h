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

// Pictures and their masks, each in a folder of its own. Files belong together when their paths
// below their folders are equal but for the ending and, where one is given, the suffix before it.
// One record a picture:
//
//   image   the first field, whatever it is called: the picture
//   mask    the other fields, each an `image` whose bytes are the file's: nothing changes a number
//   id      the picture's path in the split, column
//
// Folders directly in the first field's that are named as splits are ("train", "validation"), or
// that `splits` names, are the splits; else there is one, called after the folder or the one above,
// or "train". With `lists` each list is a split, named after its file.
//
// A name without a file in one of the folders is an Error(not_found) that counts such names; so is
// a name of a list without any file. Two files of one name are an Error(invalid_argument). A mask
// is a bad sample when it is not a PNG of one channel, or is not as large as its picture: headers
// alone are read. Links, hidden files and files of other endings are as in open_image_folder().
struct PairedFolder {
  std::string field;             // "mask"
  std::filesystem::path folder;  // below PairsOptions::root, or as given
};
struct PairsOptions {
  // Where data sets that everybody has keep their folders; one of pair_layouts(), empty: none.
  //
  //   ade20k      root/images/{training,validation}, root/annotations/...
  //   cityscapes  root/leftImg8bit/<split>/<city>/*_leftImg8bit.png, and of root/gtFine the files
  //               *_gtFine_labelIds.png
  //   voc         root/JPEGImages, root/SegmentationClass, and the lists train and val of
  //               root/ImageSets/Segmentation; `splits` may name others of them
  std::string layout;
  std::filesystem::path root;
  // At least two with those of the layout; the first is the picture. A field of the layout's gets
  // the folder that is given for it here.
  std::vector<PairedFolder> folders;
  // By field: what stands behind the name and before the ending, "_gtFine_labelIds", or with the
  // ending, "_mask.png". Files without it are left out, with a note. Comes before the layout's.
  std::map<std::string, std::string> suffixes;
  // Text files of one name a line, which may end as a picture's file does: these alone, in their
  // order. Below `root`, or as given.
  std::vector<std::filesystem::path> lists;
  // What to convert; empty: all.
  std::vector<std::string> splits;
  // Fields whose colours are numbers, red + 256 green + 65536 blue: PNGs of three channels.
  std::vector<std::string> panoptic;
  bool skip_unpaired = false;     // names without all files are left out, with a note
  StoreAs store = StoreAs::jpeg;  // of the pictures; or dct
  // apply: pictures that EXIF data turn are stored upright, as those who drew the masks saw them
  ExifUse exif = ExifUse::ignore;
};
std::vector<std::string> pair_layouts();
// Throws Error(invalid_argument) for options that no data could make right.
void validate(const PairsOptions& options);
std::unique_ptr<Source> open_pairs(const PairsOptions& options);

}  // namespace ffkit
