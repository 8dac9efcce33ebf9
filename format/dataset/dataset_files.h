// Finding and opening the files of a data set, of whichever version.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

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

}  // namespace ffkit
