// Which folders of a folder of pictures are splits and which are classes. Looks at names, and at
// which folders hold pictures.
//
//   SRC/train/cat/*.jpg  SRC/valid/cat/*.jpg    splits: one of the folders is named as a split, or
//                                               was asked for
//   SRC/cat/*.jpg        SRC/dog/2021/*.jpg     classes, of one split "train"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

struct FolderSplit {
  std::string name;            // "val"
  std::filesystem::path path;  // SRC/valid
  bool is_wanted = true;       // false: not asked for, but it may say what the classes are
  bool is_training = false;
  bool is_test = false;
  // Its folders that hold pictures, sorted; empty: all pictures lie in `path` itself.
  std::vector<std::string> classes;
};

struct FolderLayout {
  std::vector<FolderSplit> splits;  // at least one is wanted
  std::vector<std::string> notes;
};

// `path` is a folder. `wanted` are names of folders or splits, empty: all. Throws Error(not_found)
// where there are no pictures or not all that is wanted, and Error(invalid_argument) where it is
// not clear what a folder is. `has_classes`: the classes are known, so that a folder without
// pictures moves no label, and a folder may be called as it likes.
FolderLayout find_folder_layout(const std::filesystem::path& path,
                                const std::vector<std::string>& wanted, bool has_classes = false);

// Throws Error(invalid_argument) where the classes of `layout` are hardly meant: folders that are
// called as parts of a data set ("annotations", "images", "cars_train"), pictures and what belongs
// to each, one class alone, or lists beside the pictures. Says what converts the set.
void refuse_other_layouts(const std::filesystem::path& path, const FolderLayout& layout);

// The same of a folder that has no layout, where it looks like a published data set.
void refuse_known_layout(const std::filesystem::path& path);

// "'a', 'b' and 7 more", for messages.
std::string some_names(const std::vector<std::string>& names);

}  // namespace ffkit
