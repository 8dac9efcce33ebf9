// Data sets as the command line names them, and what labels stand for.
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

}  // namespace ffkit
