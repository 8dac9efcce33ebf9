// COCO listing: which annotation files a folder has, and where their pictures are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/sources/coco.h>

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

}  // namespace ffkit
