// Parts of Dataset: finding and opening its files, of whichever version, and conditions on classes.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/filter.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/shard_reader.h>

#include "storage/addresses/place.h"

namespace ffkit {

class OpenShards;

struct DatasetFiles {
  std::filesystem::path path;  // the split's folder, or the (first) file
  Manifest manifest;
  int format_version = 2;
  // Where shards are opened when they are needed; before them, since they use it.
  std::shared_ptr<OpenShards> open_shards;
  std::shared_ptr<const std::vector<std::filesystem::path>> folders;  // that these are in
  std::vector<ShardReader> shards;
  std::vector<std::string> warnings;
};

// Why a shard with these facts and this schema is not the one that its split's manifest, of
// `schema`, has listed; empty when it is.
std::string shard_difference(const ShardSummary& found, const Schema& found_schema,
                             const ShardSummary& listed, const Schema& schema);

// As Dataset::open() and Dataset::open_files().
DatasetFiles open_dataset_files(const Place& place, const std::string& split,
                                const ShardReaderOptions& options);
DatasetFiles open_listed_files(const std::vector<std::filesystem::path>& files,
                               const ShardReaderOptions& options);

// The files of `split` of the FFRecord v1 data set at `path`, in order: `path`/`split`.ffr, or with
// an empty `split` the folder or file `path` itself. Nothing when there is no such thing.
std::optional<std::vector<std::filesystem::path>> find_v1_files(const std::filesystem::path& path,
                                                                const std::string& split);

// Opens files of which at least one is of version 1. Classes and labels are taken from meta.pkl in
// `files`' folder or the one above, if there is one and it agrees with the records.
DatasetFiles open_v1_dataset(const std::vector<std::filesystem::path>& files,
                             const ShardReaderOptions& options);

// `filter` with "class == 'tench'" as "label == 0", where the records have a label and no field
// "class", and the manifest has classes. A class is known by its identifier, by its name, and by
// one of several names ("tench, Tinca tinca"). Throws Error(not_found) for a class that there is
// not, Error(invalid_argument) for a name that several classes have, and for a comparison that
// classes have not.
Filter with_labels_for_classes(const Filter& filter, const Manifest& manifest);

}  // namespace ffkit
