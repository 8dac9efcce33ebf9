// COCO listing: which annotation files a folder has, and where their pictures are.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ffkit/sources/coco.h>

#include "coco/coco_file.h"
#include "converter/input/input_file.h"

namespace ffkit {

struct CocoListing {
  std::string split;  // "train2017"
  std::filesystem::path annotations;
  std::filesystem::path images;    // folder that file names are relative to
  std::filesystem::path panoptic;  // folder of the panoptic PNGs; empty: none are wanted
};

// One entry a split, as open_coco() says; notes on what was passed over go to `notes`. Throws
// Error(not_found), Error(invalid_argument).
std::vector<CocoListing> list_coco(const std::filesystem::path& path, const CocoOptions& options,
                                   std::vector<std::string>& notes);

// The files that a COCO file names: its pictures, and panoptic PNGs.

// Throws Error(unsupported) for names of files that are not inside their folder: of a picture, and
// of all of a file.
void require_safe_name(int64_t picture_id, const std::string& file_name,
                       const std::filesystem::path& annotations);
void require_safe_names(const CocoFile& file, const std::filesystem::path& annotations);

// One a picture; -1 bytes: there is no such file. Names of pictures that are known by their URL
// become its last part, or stay its last two where these are there.
std::vector<FileStamp> look_at_pictures(const std::filesystem::path& folder,
                                        std::vector<CocoPicture>& pictures);
// The same for other files.
std::vector<FileStamp> look_at_files(const std::filesystem::path& folder,
                                     std::span<const std::string> names);

// Says which of `num_all` files of `folder` are missing, where some are, as an error or a note.
// `noun`: what they are.
void say_missing(const std::filesystem::path& folder, const std::vector<std::string>& missing,
                 size_t num_all, const char* noun, const CocoListing& places, bool is_note,
                 std::vector<std::string>& notes);
// The numbers of the pictures whose files are there; `panoptic` is empty where PNGs are not wanted.
// Throws Error(not_found) that counts the others, unless `allow_missing`: then they are noted.
std::vector<size_t> pictures_that_are_there(const CocoListing& places, const CocoFile& file,
                                            std::span<const FileStamp> pictures,
                                            std::span<const FileStamp> panoptic, bool allow_missing,
                                            std::vector<std::string>& notes);

}  // namespace ffkit
