// Trees of pictures: lists the pictures of a folder with one sub-folder a class. What is a picture,
// picture_kind_of() decides. Names that begin with a dot are passed over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pictures/image_source.h"

namespace ffkit {

// Names of the sub-folders of `folder` (links to folders included), sorted. Throws Error(not_found)
// for a link that leads to nothing and whose name is not a picture's: it may be a folder of a disk
// that is not mounted.
std::vector<std::string> list_folders(const std::filesystem::path& folder);

// Names of the sub-folders that begin with a dot, sorted.
std::vector<std::string> list_hidden_folders(const std::filesystem::path& folder);

// Names of everything else in `folder`, sorted.
std::vector<std::string> list_files(const std::filesystem::path& folder);

// True when `folder` itself holds a picture.
bool holds_images(const std::filesystem::path& folder);

// True when `folder` or a folder in it, at any depth, holds a picture. Stops at the first one.
// Throws as list_class_folders().
bool holds_images_below(const std::filesystem::path& folder);

struct ImageListing {
  std::vector<ImageEntry> entries;  // sorted by folder, then by id; without labels
  int64_t num_ignored = 0;          // files that are no pictures
  int64_t num_hidden = 0;           // folders that begin with a dot and hold pictures
};

// All pictures below root/<folders[i]>, at any depth; ids are relative to `root`. Links are
// followed, as torchvision's ImageFolder does. A picture that is a link to nothing is listed, and
// fails when it is read. Throws Error(io) for what cannot be read, Error(not_found) for a link to
// nothing that may have been a folder, and Error(unsupported) for a FIFO, socket or device that has
// a picture's name, and for a link to a folder above it.
ImageListing list_class_folders(const std::filesystem::path& root,
                                const std::vector<std::string>& folders);

// The pictures directly in `root`, sorted, without labels.
ImageListing list_flat_folder(const std::filesystem::path& root);

// All pictures in `root` and below it, sorted by id; otherwise as list_class_folders().
ImageListing list_tree(const std::filesystem::path& root);

// Notes, once, what was left out of `listing`: "12 files were left out: they are no pictures".
void note_ignored(const ImageListing& listing, const std::filesystem::path& where,
                  std::vector<std::string>& notes);

}  // namespace ffkit
