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
// A folder of `path` is a split when it, or another one beside it, is named as splits are ("train",
// "Valid", "testing"; "val" is the split of "Valid"), or when `splits` names it; else the folders
// are the classes. A class is a folder that holds pictures, at any depth; others are named in
// notes(). Labels are those that torchvision's ImageFolder gives for the training splits: positions
// among the sorted names of their classes. A class that another split has and these lack is an
// Error(invalid_argument); without a training split, the classes are those of all splits. A split
// "test" whose pictures lie in no class folders has labels -1. tiny-imagenet's val/images/ is
// labelled by val/val_annotations.txt. Splits whose name begins with "train" are training splits.
// Id: "<class>/<file>".
//
// Throws Error(invalid_argument) for pictures beside folders of pictures in a split, where either
// may be a mistake, and Error(not_found) for a link to a folder that is not there; a picture that
// is such a link is a bad sample.
struct ImageFolderOptions {
  // What to convert, by the names of the folders or of the splits; empty: all. Folders that are
  // named here are splits whatever their names.
  std::vector<std::string> splits;
  // Classes are those of all splits together, not of the training splits alone.
  bool classes_from_all = false;
  // The classes, in the order of their labels, of a text file with one a line or of a data set of
  // ffkit; folders of other names are an Error(invalid_argument). Not both.
  std::filesystem::path classes;
  std::filesystem::path classes_of;
  // Lists of names and labels (CSV, TSV, JSON lines, or text), "train.csv" or "val=FILE": the
  // pictures are those that they name, wherever below `path` they lie.
  std::vector<std::string> labels;
  std::string name_column;     // of the lists; empty: the one that is called so
  std::string label_column;    // the same
  bool multi_label = false;    // a picture has several: `labels`, i64 [n], stands for `label`
  bool allow_missing = false;  // names of lists without a picture are left out, with a note
  // Folders that hardly are classes ("annotations", "cars_train", one alone, lists beside them) are
  // an Error(invalid_argument) that names the data set they look like; not with given classes.
  bool refuses_other_layouts = false;
  ImageStorage images;
};
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& path,
                                          const ImageFolderOptions& options = {});

}  // namespace ffkit
