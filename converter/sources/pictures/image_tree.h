// Image trees: lists the pictures of a folder with one sub-folder a class. Names that begin with a
// dot are passed over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sources/pictures/image_source.h"

namespace ffkit {

// Names of the sub-folders of `folder` (links to folders included), sorted.
std::vector<std::string> list_folders(const std::filesystem::path& folder);

// Names of everything else in `folder`, sorted.
std::vector<std::string> list_files(const std::filesystem::path& folder);

// True when `folder` itself holds a file with a picture's name.
bool holds_images(const std::filesystem::path& folder);

struct ImageListing {
  std::vector<ImageEntry>
      entries;  // sorted by class folder, then by id; label = position in the folders given
  int64_t num_ignored = 0;  // files that are no pictures by their name
};

// All pictures below root/<folders[i]>, at any depth; ids are relative to `root`. Links are followed, as torchvision's ImageFolder does. Throws
// Error(io) for what cannot be read, dangling links included, and Error(unsupported) for a FIFO, socket or device that has a picture's name, and for a link
// to a folder above it.
ImageListing list_class_folders(const std::filesystem::path& root,
                                const std::vector<std::string>& folders);

// The pictures directly in `root`, sorted, all with label 0.
ImageListing list_flat_folder(const std::filesystem::path& root);

// "12 files in 'X' are no pictures by their name and were left out"; empty for 0.
std::string ignored_note(int64_t num_ignored, const std::filesystem::path& where);

}  // namespace ffkit
