#include "dataset/dataset_files.h"

#include <algorithm>

#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "dataset/source_look.h"
#include "reader/open_shards.h"
#include "shard/shard_file.h"
#include "storage/reader/random_reader.h"
#include "v1/v1_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "manifest.json";

// Opens a shard that a manifest of `schema` lists, by `begun` unless it is null, and compares it
// with that.
std::unique_ptr<ShardFile> open_listed_shard(const fs::path& path,
                                             std::shared_ptr<const RandomReader> begun,
                                             const ShardSummary& listed, const Schema& schema,
                                             const ShardReaderOptions& options) {
  const auto fail = [&](ErrorCode code, const std::string& message) {
    throw Error(code, message,
                {.path = path.string(),
                 .subject = ErrorSubject::shard,
                 .remedy = "copy or convert the data set again"});
  };
  std::unique_ptr<ShardFile> shard;
  try {
    shard = shard_errors_only(path, -1, [&] {
      if (begun == nullptr) begun = open_random_reader(path, known_file(listed));
      return open_shard_file(begun, options);
    });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    fail(ErrorCode::not_found, "the manifest lists this shard, but the file does not exist");
  }
  const std::string difference = shard_difference(shard->facts(), shard->schema(), listed, schema);
  if (!difference.empty()) fail(ErrorCode::corrupt, difference);
  return shard;
}

// Calls `open` for the number of each shard of a manifest, while what opening those behind it reads
// is fetched: `announce` asks for it.
template <typename Announce, typename Open>
void open_in_order(const std::vector<ManifestShard>& shards, const Announce& announce,
                   const Open& open) {
  constexpr size_t kShardsAhead = 64;  // a cold disk answers many at once as fast as one
  size_t num_announced = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (; num_announced < std::min(i + kShardsAhead, shards.size()); ++num_announced) {
      announce(num_announced);
    }
    open(i);
  }
}

// Gives `files` the shards that its manifest lists, in the folder of the same number, or in the
// only one.
void open_when_needed(DatasetFiles& files, std::vector<fs::path> folders,
                      const ShardReaderOptions& options) {
  files.folders = std::make_shared<const std::vector<fs::path>>(std::move(folders));
  files.open_shards = std::make_shared<OpenShards>(
      options.max_open_shards, files.manifest.schema,
      [options](const fs::path& path, std::shared_ptr<const RandomReader> begun,
                const ShardSummary& listed, const Schema& schema) {
        return open_listed_shard(path, std::move(begun), listed, schema, options);
      });
  // The manifest's list stays where it is in memory when `files` is moved.
  const std::vector<ManifestShard>& shards = files.manifest.shards;
  for (size_t i = 0; i < shards.size(); ++i) {
    const fs::path& folder = (*files.folders)[files.folders->size() == 1 ? 0 : i];
    files.shards.push_back(
        reader_of(files.open_shards->shard(folder, shards[i].file, shards[i]), options));
  }
}

DatasetFiles open_split(const fs::path& folder, const ShardReaderOptions& options) {
  DatasetFiles files{.path = folder, .manifest = read_manifest(folder / kManifestName)};
  const std::vector<ManifestShard>& shards = files.manifest.shards;
  const bool all_may_stay_open =
      std::ssize(shards) <= options.max_open_shards && !Place(folder).is_in_store();
  files.shards.reserve(shards.size());
  if (all_may_stay_open && options.check_shards != ShardCheck::as_needed) {
    open_in_order(
        shards, [&](size_t i) { announce_shard(folder / shards[i].file, shards[i].file_bytes); },
        [&](size_t i) {
          files.shards.push_back(
              reader_of(open_listed_shard(folder / shards[i].file, nullptr, shards[i],
                                          files.manifest.schema, options),
                        options));
        });
    return files;
  }
  open_when_needed(files, {folder}, options);
  if (options.check_shards == ShardCheck::at_once) {
    open_in_order(
        shards,
        [&](size_t i) {
          if (shards[i].num_records > 0) files.shards[i].will_locate(0);
        },
        [&](size_t i) { static_cast<void>(files.shards[i].open_file()); });
  }
  return files;
}

bool is_v1(const fs::path& path) {
  return looks_like_v1(*open_random_reader(path));
}

[[noreturn]] void refuse_split_of_file(const fs::path& path, const std::string& split) {
  throw Error(ErrorCode::not_found,
              fmt::format("this is one file, so it has no split '{}'; give the folder of the file, "
                          "or leave out the split",
                          split),
              {.path = path.string(), .subject = ErrorSubject::split, .name = split});
}

[[noreturn]] void not_found(const fs::path& path, const std::string& split) {
  const auto splits = list_splits(path);
  if (splits.empty() && split.empty() && Place(path).is_in_store() && path.extension() == ".ffr") {
    throw dataset_error(path, ErrorCode::not_found, "there is no such object");
  }
  const bool is_on_web = path.native().starts_with("http");
  if (splits.empty() && is_on_web) {
    throw Error(ErrorCode::not_found,
                fmt::format("there is no manifest.json in {}, and a web server lists no splits; {}",
                            (split.empty() ? path : path / split).string(),
                            split.empty() ? "name the split" : "check the name of the split"),
                {.path = path.string(), .subject = ErrorSubject::dataset, .name = split});
  }
  if (splits.empty()) {
    const std::string look = Place(path).is_in_store() ? "" : words_on_source(path);
    throw dataset_error(path, ErrorCode::not_found,
                        "this is not a data set: the folder and the folders in it have no "
                        "manifest.json, and there is no FFRecord v1 file{}",
                        look.empty() ? "" : "; " + look);
  }
  const std::string wish =
      split.empty() ? "name the split that you mean" : fmt::format("there is no split '{}'", split);
  throw Error(ErrorCode::not_found,
              fmt::format("{}; the splits are {}", wish, fmt::join(splits, ", ")),
              {.path = path.string(), .subject = ErrorSubject::split, .name = split});
}

// The files of a folder of FFRecord v1, as find_v1_files() has them.
std::vector<fs::path> v1_files_at(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string& name : names_in_folder(folder).files) {
    if (name.ends_with(".ffr")) files.push_back(folder / name);
  }
  return files;
}

// The split that `path` itself is, where that is the one that is wanted; nothing where it is none.
std::optional<DatasetFiles> open_own_split(const fs::path& path, const std::string& split,
                                           const ShardReaderOptions& options) {
  if (split.empty() || !is_split_folder(path)) return std::nullopt;
  const std::string own = read_manifest(path / kManifestName).split;
  if (own == split) return open_split(path, options);
  throw Error(ErrorCode::not_found,
              fmt::format("this folder is the split '{}', not a data set, so it has no split '{}'; "
                          "give the folder of the data set, usually the parent folder",
                          own, split),
              {.path = path.string(), .subject = ErrorSubject::split, .name = split});
}

// In a store there are no folders: what is looked for first is what a data set has.
DatasetFiles open_address(const fs::path& address, const std::string& split,
                          const ShardReaderOptions& options) {
  const fs::path path = address.has_filename() ? address : address.parent_path();
  const fs::path folder = split.empty() ? path : path / split;
  try {
    DatasetFiles files = open_split(folder, options);
    refuse_unfinished(folder);
    return files;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found ||
        error.context().path != without_marks((folder / kManifestName).native())) {
      throw;
    }
  }
  refuse_unfinished(folder);
  if (has_object(path)) {
    if (!split.empty()) refuse_split_of_file(path, split);
    return open_listed_files({path}, options);
  }
  for (const fs::path& place : {folder, path / (split + ".ffr")}) {
    if (const std::vector<fs::path> files = v1_files_at(place); !files.empty()) {
      return open_v1_dataset(files, options);
    }
  }
  if (auto files = open_own_split(path, split, options)) return std::move(*files);
  not_found(path, split);
}

std::vector<std::string> find_splits(const fs::path& folder) {
  std::vector<std::string> splits;
  if (Place(folder).is_in_store()) {
    for (const std::string& name : names_in_folder(folder).folders) {
      if (has_object(folder / name / kManifestName)) {
        splits.push_back(name);
      } else if (name.ends_with(".ffr") && !v1_files_at(folder / name).empty()) {
        splits.push_back(fs::path(name).stem().string());
      }
    }
    return splits;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (fs::exists(path / kManifestName)) {
      splits.push_back(path.filename().string());
    } else if (path.extension() == ".ffr" && fs::is_directory(path) && find_v1_files(path, "")) {
      const std::string split = path.stem().string();
      if (split == "." || split == "..") {
        throw dataset_error(path, ErrorCode::unsupported,
                            "the folder would become the split '{}', which leads out of the data "
                            "set; rename the folder",
                            split);
      }
      splits.push_back(split);
    }
  }
  std::ranges::sort(splits);
  return splits;
}

}  // namespace

std::string shard_difference(const ShardSummary& found, const Schema& found_schema,
                             const ShardSummary& listed, const Schema& schema) {
  if (found.num_records != listed.num_records || found.file_bytes != listed.file_bytes ||
      found.checksum != listed.checksum) {
    return fmt::format(
        "the shard differs from the manifest: it has {} records, {} bytes and the checksum {:08x}, "
        "but the manifest says {} records, {} bytes and the checksum {:08x}",
        found.num_records, found.file_bytes, found.checksum, listed.num_records, listed.file_bytes,
        listed.checksum);
  }
  const std::string other = found_schema.difference(schema);
  return other.empty() ? "" : "the shard has another schema than the manifest: " + other;
}

DatasetFiles open_dataset_files(const Place& place, const std::string& split,
                                const ShardReaderOptions& options) {
  const fs::path& path = place.path();
  if (place.is_in_store()) return open_address(path, split, options);
  if (!fs::exists(path)) {
    require_local(path);      // an address that has lost a slash is none
    refuse_unfinished(path);  // such as a split that gets its name in the end
    throw dataset_error(path, ErrorCode::not_found,
                        "there is no such folder or file; give the folder that ffconvert wrote");
  }
  if (!fs::is_directory(path)) {
    if (!split.empty()) {
      refuse_split_of_file(path, split);
    }
    return open_listed_files({path}, options);
  }
  const fs::path folder = split.empty() ? path : path / split;
  refuse_unfinished(path);
  refuse_unfinished(folder);
  if (fs::exists(folder / kManifestName)) {
    return open_split(folder, options);
  }
  if (const auto files = find_v1_files(path, split)) {
    // Shards without their manifest are what an interrupted writer leaves.
    for (const fs::path& file : *files) {
      if (!is_v1(file)) {
        throw dataset_error(file, ErrorCode::invalid_argument,
                            "has no manifest.json beside it, so the program that wrote this shard "
                            "has not finished; convert again, or open only this file");
      }
    }
    return open_v1_dataset(*files, options);
  }
  if (auto files = open_own_split(path, split, options)) return std::move(*files);
  not_found(path, split);
}

DatasetFiles open_listed_files(const std::vector<fs::path>& paths,
                               const ShardReaderOptions& options) {
  if (paths.empty()) {
    throw Error(ErrorCode::invalid_argument, "a data set needs at least one file");
  }
  if (std::ranges::any_of(paths, is_v1)) {
    // A part of FFRecord v1 does not say how many belong to it.
    for (const fs::path& path : paths) refuse_unfinished_file(path);
    return open_v1_dataset(paths, options);
  }
  DatasetFiles files{.path = paths.front()};
  files.manifest.split = paths.front().stem().string();
  const bool all_may_stay_open = std::ssize(paths) <= options.max_open_shards;
  files.manifest.shards.reserve(paths.size());
  files.shards.reserve(paths.size());
  for (const fs::path& path : paths) {
    ShardReader shard(path, options);
    if (files.manifest.shards.empty()) files.manifest.schema = shard.schema();
    if (const std::string difference = shard.schema().difference(files.manifest.schema);
        !difference.empty()) {
      throw dataset_error(path, ErrorCode::invalid_argument, "has another schema than {}: {}",
                          paths.front().string(), difference);
    }
    files.manifest.shards.push_back({shard.facts(), path.filename().string()});
    if (all_may_stay_open) files.shards.push_back(std::move(shard));
  }
  if (all_may_stay_open) return files;
  std::vector<fs::path> folders;
  folders.reserve(paths.size());
  for (const fs::path& path : paths) folders.push_back(path.parent_path());
  open_when_needed(files, std::move(folders), options);
  return files;
}

bool is_local(const fs::path& path) {
  return !Place(path).is_in_store();
}

fs::path kept_path(const fs::path& path) {
  return Place(path).path();
}

bool is_split_folder(const fs::path& folder) {
  const fs::path manifest = folder / kManifestName;
  return errors_only(folder, [&] {
    return Place(folder).is_in_store() ? has_object(manifest) : fs::exists(manifest);
  });
}

bool has_split(const fs::path& folder, const std::string& split) {
  const fs::path v1_folder = folder / (split + ".ffr");
  return errors_only(folder, [&] {
    const bool is_below = Place(folder).is_in_store()
                              ? is_split_folder(folder / split) ||
                                    has_object(folder / split / kUnfinishedMarker) ||
                                    !v1_files_at(v1_folder).empty()
                              : fs::exists(folder / split) || fs::exists(v1_folder);
    return is_below ||
           (is_split_folder(folder) && read_manifest(folder / kManifestName).split == split);
  });
}

std::vector<std::string> list_splits(const fs::path& folder) {
  return errors_only(folder, [&] { return find_splits(folder); });
}

}  // namespace ffkit
