#include "dataset/dataset_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "dataset/v1_dataset.h"
#include "errors_only.h"
#include "make_error.h"
#include "shard/shard_layout.h"
#include "v1/v1_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "manifest.json";

void check_against_manifest(const ShardReader& shard, const ManifestShard& expected,
                            const Schema& schema) {
  const std::string difference = shard_difference(shard, expected, schema);
  if (difference.empty()) return;
  throw Error(ErrorCode::corrupt, difference,
              {.path = shard.path().string(),
               .subject = ErrorSubject::shard,
               .remedy = "copy or convert the data set again"});
}

// Has the kernel fetch what opening the shard reads, without waiting for it. A shard that is not
// there is found by opening it.
void will_open(const fs::path& path, int64_t file_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  (void)::posix_fadvise(fd, 0, kHeaderBytes, POSIX_FADV_WILLNEED);
  (void)::posix_fadvise(fd, std::max<int64_t>(file_bytes - kTailBytes, 0), kTailBytes,
                        POSIX_FADV_WILLNEED);
  ::close(fd);
}

DatasetFiles open_split(const fs::path& folder, const ShardReaderOptions& options) {
  constexpr size_t kShardsAhead = 64;  // a cold disk answers many at once as fast as one
  DatasetFiles files{.path = folder, .manifest = read_manifest(folder / kManifestName)};
  const std::vector<ManifestShard>& shards = files.manifest.shards;
  size_t num_announced = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (; num_announced < std::min(i + kShardsAhead, shards.size()); ++num_announced) {
      will_open(folder / shards[num_announced].file, shards[num_announced].file_bytes);
    }
    const ManifestShard& expected = shards[i];
    files.shards.emplace_back(folder / expected.file, options);
    check_against_manifest(files.shards.back(), expected, files.manifest.schema);
  }
  return files;
}

bool is_v1(const fs::path& path) {
  return looks_like_v1(File::open_for_reading(path));
}

[[noreturn]] void not_found(const fs::path& path, const std::string& split) {
  const auto splits = list_splits(path);
  if (splits.empty()) {
    throw Error(ErrorCode::not_found,
                "is not a data set: there is no manifest.json in it or in its folders, and no "
                "FFRecord v1 file",
                {.path = path.string(), .subject = ErrorSubject::dataset});
  }
  const std::string wish =
      split.empty() ? "say which split is meant" : fmt::format("there is no split '{}'", split);
  throw Error(ErrorCode::not_found,
              fmt::format("{}; the data set has {}", wish, fmt::join(splits, ", ")),
              {.path = path.string(), .subject = ErrorSubject::split, .name = split});
}

}  // namespace

std::string shard_difference(const ShardReader& shard, const ManifestShard& listed,
                             const Schema& schema) {
  const ShardSummary found = shard.facts();
  if (found.num_records != listed.num_records || found.file_bytes != listed.file_bytes ||
      found.checksum != listed.checksum) {
    return fmt::format(
        "is not the shard that the manifest lists: {} records, {} bytes, checksum {:08x} against "
        "{}, {}, {:08x}",
        found.num_records, found.file_bytes, found.checksum, listed.num_records, listed.file_bytes,
        listed.checksum);
  }
  const std::string other = shard.schema().difference(schema);
  return other.empty() ? "" : "does not have the manifest's schema: " + other;
}

DatasetFiles open_dataset_files(const fs::path& path, const std::string& split,
                                const ShardReaderOptions& options) {
  if (!fs::exists(path)) {
    refuse_unfinished(path);  // such as a split that gets its name in the end
    throw Error(ErrorCode::not_found,
                "there is no such folder or file; give the folder that ffconvert wrote",
                {.path = path.string(), .subject = ErrorSubject::dataset});
  }
  if (!fs::is_directory(path)) {
    if (!split.empty()) {
      throw Error(
          ErrorCode::not_found,
          fmt::format("is one file and has no split '{}'; give its folder, or no split", split),
          {.path = path.string(), .subject = ErrorSubject::split, .name = split});
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
                            "has no manifest.json beside it, so whatever wrote this shard has not "
                            "finished; convert again, or open the shard by its own name");
      }
    }
    return open_v1_dataset(*files, options);
  }
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
  for (const fs::path& path : paths) {
    files.shards.emplace_back(path, options);
    const ShardReader& shard = files.shards.back();
    if (const std::string difference = shard.schema().difference(files.shards.front().schema());
        !difference.empty()) {
      throw dataset_error(path, ErrorCode::invalid_argument, "has another schema than {}: {}",
                          paths.front().string(), difference);
    }
    files.manifest.shards.push_back({shard.facts(), path.filename().string()});
  }
  files.manifest.schema = files.shards.front().schema();
  return files;
}

namespace {

std::vector<std::string> find_splits(const fs::path& folder) {
  std::vector<std::string> splits;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (fs::exists(path / kManifestName)) {
      splits.push_back(path.filename().string());
    } else if (path.extension() == ".ffr" && fs::is_directory(path) && find_v1_files(path, "")) {
      const std::string split = path.stem().string();
      if (split == "." || split == "..") {
        throw dataset_error(
            path, ErrorCode::unsupported,
            "would be the split '{}', which leads out of the data set; rename the folder", split);
      }
      splits.push_back(split);
    }
  }
  std::ranges::sort(splits);
  return splits;
}

}  // namespace

std::vector<std::string> list_splits(const fs::path& folder) {
  return errors_only(folder, [&] { return find_splits(folder); });
}

}  // namespace ffkit
