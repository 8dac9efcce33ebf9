// Data sets as the command line names them, what labels stand for, and the full check of a split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

// What every subcommand is told.
struct Target {
  std::string path;
  std::string split;  // empty: all of them, or the only one
  bool json = false;
  ShardReaderOptions reader;
  std::string where;  // only the records for which this filter holds; see parse_filter
  // Only the records that this index file lists, in its order; see read_index_file.
  std::string indices;
};

// False for what is certainly a file or not there. A store does not say what is a folder.
bool may_be_folder(const std::filesystem::path& path);

// The wanted split, or all of them, and of them the wanted records; the path may also be the folder
// of one split. Throws what Dataset::open, parse_filter and read_index_file throw.
std::vector<Dataset> open_splits(const Target& target);
// The same for commands that look at one split; throws Error(invalid_argument) when there are
// several and none is chosen.
Dataset open_one_split(const Target& target);

// Whether the target is a packed folder (FORMAT.md, "Version 1"): a file tree in one file, not a
// data set. Throws Error(invalid_argument) when it is and options that only data sets have are
// given.
bool is_packed(const Target& target);

// The files that the data set is read from, its index file included, which therefore no output may
// replace.
std::vector<std::filesystem::path> input_files(const Dataset& dataset, const Target& target);

// Identifier and readable name of a label's class, empty where the data set has none.
std::string class_of(const Manifest& manifest, int64_t label);
std::string class_name_of(const Manifest& manifest, int64_t label);

// The record's label, if it has one.
std::optional<int64_t> label_of(const Schema& schema, const RecordView& record);

// The full check of one split: every byte that a checksum covers is read. Does not need the split
// to open as a whole: each shard is opened by itself, and what is wrong with one does not hide the
// others.
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
