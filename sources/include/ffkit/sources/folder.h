// Folders of pictures. Throws Error with file, reason and remedy.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Folders of pictures: path/<split>/<class>/*, or path/<class>/*, which becomes one split "train".
//
// The folders of `path` are splits if one of them has the name of a split ("train", "Valid",
// "testing"; "Valid" becomes "val"), or if `splits` names them; otherwise they are classes. A class
// is a folder with pictures at any depth; notes() names other folders. Labels are those of
// torchvision's ImageFolder for the training splits: positions among the sorted names of their
// classes. If another split has a further class, that is Error(invalid_argument); without a
// training split, the classes are those of all splits. If "test" has no class folders, its labels
// are -1. val/val_annotations.txt of tiny-imagenet labels val/images/. Splits whose name begins
// with "train" are training splits. Id: "<class>/<file>".
//
// Throws Error(invalid_argument) for pictures beside folders of pictures in a split, and
// Error(not_found) for a broken link to a folder; a broken link to a picture is a bad sample.
struct ImageFolderOptions {
  // The folders or splits to convert; empty: all. Folders that are named here are splits.
  std::vector<std::string> splits;
  // The classes are those of all splits together, not only of the training splits.
  bool classes_from_all = false;
  // The classes, in the order of their labels, from a text file with one per line, or from a data
  // set of ffkit; not both. Folders with other names are Error(invalid_argument).
  std::filesystem::path classes;
  std::filesystem::path classes_of;
  // Lists of names and labels (CSV, TSV, JSON lines, or text), "train.csv" or "val=FILE". They name
  // the pictures, anywhere below `path`.
  std::vector<std::string> labels;
  std::string name_column;     // of the lists; empty: the one that is called so
  std::string label_column;    // the same
  bool multi_label = false;    // a picture has several: `labels`, i64 [n], stands for `label`
  bool allow_missing = false;  // names of lists without a picture are left out, with a note
  // Folders that are probably not classes ("annotations", "cars_train", a single one, lists beside
  // them) are Error(invalid_argument) that names the data set they look like; not with given
  // classes.
  bool refuses_other_layouts = false;
  ImageStorage images;
};
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& path,
                                          const ImageFolderOptions& options = {});

}  // namespace ffkit
