// WebDataset shards: the members of a tar file grouped into samples.
//
//   000123.jpg  000123.cls  000124.jpg  000124.cls      two samples, "000123" and "000124", of
//                                                       members "jpg" and "cls"
//
// As the webdataset package has it: a sample's key is the path up to the first dot of the file's
// name, the rest, in lower case, is the member's extension ("seg.png"); a sample's members lie side
// by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "archives/tar_index.h"

namespace ffkit {

struct WebDatasetMember {
  uint32_t extension = 0;  // in WebDatasetShard::extensions
  FileRange data;
};

struct WebDatasetSample {
  std::string key;
  size_t num_members = 0;  // that follow one another in WebDatasetShard::members
};

struct WebDatasetShard {
  std::vector<std::string> extensions;  // in order of appearance
  std::vector<WebDatasetSample> samples;
  std::vector<WebDatasetMember> members;
  int64_t num_ignored = 0;  // names without extension, hidden ones, and webdataset's own "__..__"
};

// Throws as index_tar() does, and Error(invalid_argument) for a sample whose members are scattered
// or that has two of the same extension. The tar is in `range` of `file`, which is the file at
// `path` or was made of it.
WebDatasetShard list_webdataset_shard(const std::filesystem::path& path, const InputFile& file,
                                      FileRange range, size_t num_beside);

}  // namespace ffkit
