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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/input/input_file.h"

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

// Whether archives are the official ones, by their MD5 sums.

// The MD5 sum (RFC 1321) of the whole file as 32 hexadecimal digits. Reads it once, from the
// beginning to the end. Throws Error(io) and Error(corrupt) as InputFile::read_at() does, and
// Error(unsupported) where OpenSSL is set up to refuse MD5.
std::string md5_of(const InputFile& file);

struct ArchiveSum {
  std::string_view name;  // of the file
  std::string_view md5;   // 32 hexadecimal digits
};

// The sums that ImageNet's site and torchvision give for ILSVRC2012's train, val and devkit
// archives.
std::span<const ArchiveSum> imagenet_archive_sums();

// Reads all `archives` whole, at the same time. Returns one sentence for each: that it is the
// official one, or that there is no sum for it. Throws Error(corrupt) for the first that has
// another sum than `sums` give for its name.
std::vector<std::string> check_archives(const std::vector<std::filesystem::path>& archives,
                                        std::span<const ArchiveSum> sums = imagenet_archive_sums());

}  // namespace ffkit
