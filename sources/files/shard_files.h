// Shard files: the files of a data set that comes in pieces (tar files, JSON lines), by split.
//
//   train/000.tar  val/000.tar                   folders: the split is the folder's name
//   data/train-000.tar  data/val-000.tar         other folders: names, where all tell a split
//   imagenet-train-{000000..000146}.tar          names: the text before the last number says the
//                                                split
//   000000.tar  000001.tar                       neither: all are 'train'
//   default/train/000.tar                        deeper: as above, below the only folder that has
//                                                some
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ffkit {

struct ShardSplit {
  std::string name;
  bool is_training = false;
  std::vector<std::filesystem::path> files;  // sorted by name
};

struct ShardListing {
  std::vector<ShardSplit> splits;  // training splits first, then by name
  std::vector<std::string> notes;  // one sentence a split: what it was made of
};

using SplitFiles = std::map<std::string, std::vector<std::filesystem::path>>;

// Of the files of each split, found at `path`.
ShardListing listing_of(const std::filesystem::path& path, const SplitFiles& splits);

// Which files are shards of a source.
struct ShardNames {
  // The name of such a file without its ending, "train-00001" for "train-00001.tar.gz"; nothing for
  // other files.
  std::function<std::optional<std::string>(const std::string& name)> stem;
  std::string noun;     // "no .tar files" in messages: ".tar files"
  std::string example;  // in folders: "train/*.tar"
  // Files and folders that begin with '_' are none, as for Spark and Arrow, but for "_year=2020".
  bool hides_underscores = false;
};
// Whether a file or folder of this name is no data.
bool is_hidden_name(const std::string& name, const ShardNames& names);
// The shards directly in a folder, sorted. Throws as find_shards().
std::vector<std::filesystem::path> shards_in(const std::filesystem::path& folder,
                                             const ShardNames& names);
// The folders directly in a folder, but for those that hold no data, sorted.
std::vector<std::string> data_folders(const std::filesystem::path& path, const ShardNames& names);
// Those that end in `ending` (".tar"), and compressed ones (".tar.gz", ".tgz").
ShardNames names_ending_in(const std::string& ending);

// The files below `path` that are shards, or `path` itself, whatever its name, when it is a file.
// "validation" and "valid" become "val", which is what the trainer looks for. Throws
// Error(not_found) when there are none and for links to nothing, Error(invalid_argument) when there
// are files both in `path` and in its folders, a file and its compressed copy, or files of one
// split in several folders.
// Where neither `path` nor its folders have any, and deeper ones below one folder alone do, those
// are taken, with a note; below several folders they are not found, and the error names these.
ShardListing find_shards(const std::filesystem::path& path, const ShardNames& names);

// The split that a file's name (without its ending) tells: "train" for "imagenet-train-000003" and
// "train_00-of-16", "train2017" for "train2017"; empty when it tells none.
std::string split_in_name(const std::string& stem);

// Files by the splits that their names tell; those that tell none are named by what is before the
// number, unless none tells one. `stem`: the name of a file without its ending.
SplitFiles splits_by_name(
    const std::vector<std::filesystem::path>& files,
    const std::function<std::string(const std::filesystem::path& file)>& stem);

// "train-00003-of-00016" and "train-00003" without the number of the file.
std::string stem_without_number(std::string stem);

}  // namespace ffkit
