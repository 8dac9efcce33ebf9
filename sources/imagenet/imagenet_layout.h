// Where things lie in the copies of ImageNet that people have. Looks at names of files and folders
// only.
//
//   official archives     SRC/ILSVRC2012_img_{train,val,test*}.tar, the devkit beside them
//   extracted             SRC/{train,val,test}/
//   Kaggle (CLS-LOC)      SRC[/ILSVRC]/Data/CLS-LOC/{train,val,test}/, LOC_*.{txt,csv} in SRC
//
// In any mixture. SRC may be the folder CLS-LOC, or one split's own folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ffkit {

struct ImageNetSplitPlace {
  std::string name;            // "train", "val" or "test"
  std::filesystem::path path;  // of the archive or the folder
  bool is_archive = false;
  bool has_unused_folder = false;  // there is an archive, which is read, and a folder
};

struct ImageNetLayout {
  std::vector<ImageNetSplitPlace> splits;  // in the order train, val, test; at least one
  // Folders in which the devkit and Kaggle's lists may lie, the nearest first.
  std::vector<std::filesystem::path> list_folders;
};

// `path` exists. `wanted` are names of splits, none twice; empty: all that there are. Throws
// Error(not_found) when there is none, or not all that are wanted, and Error(invalid_argument) for
// other names and for several archives of one split.
ImageNetLayout find_imagenet(const std::filesystem::path& path,
                             const std::vector<std::string>& wanted);

// The classes of the archives n01440764.tar, ... in `folder`, sorted.
std::vector<std::string> list_class_archives(const std::filesystem::path& folder);

// The file `name` in the nearest of the folders that has one.
std::optional<std::filesystem::path> find_list(const ImageNetLayout& layout, const char* name);

}  // namespace ffkit
