// The full check of one split: every byte that a checksum covers is read. Does not need the split
// to open as a whole: each shard is opened by itself, and what is wrong with one does not hide the
// others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct Damage {
  std::string file;
  int64_t record = -1;  // within the file; -1: not a record but the file, its index or a column
  int64_t record_index = -1;  // within the split
  int64_t offset = -1;        // in the file, -1 when it is not one place
  std::string message;        // names file, record and offset
};

struct SplitCheck {
  std::string path;
  std::string split;
  int64_t num_records = 0;
  int64_t num_shards = 0;
  int64_t file_bytes = 0;
  int64_t num_pictures = 0;           // that were decoded
  int64_t num_dct_pictures = 0;       // of these, in the dct code
  std::vector<std::string> warnings;  // what the check could not find out
  std::vector<Damage> damage;         // in the order of shards and records
};

struct CheckOptions {
  ShardReaderOptions reader;
  // Decodes every picture, and makes the JPEG of each one in the dct code again and compares its
  // pixels: what fails is damage.
  bool pictures = false;
};

// Checks the split in `folder`, which holds a manifest, on all threads. A broken manifest is damage
// too.
SplitCheck check_split_folder(const std::filesystem::path& folder, const CheckOptions& options);
// Checks files that no manifest lists, FFRecord v1 or single shards, which make up the split called
// `split`.
SplitCheck check_files(const std::string& path, const std::string& split,
                       const std::vector<std::filesystem::path>& files,
                       const CheckOptions& options);

}  // namespace ffkit
