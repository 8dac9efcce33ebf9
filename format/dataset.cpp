#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

constexpr const char* kManifestName = "manifest.json";

void refuse_unfinished(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kUnfinishedMarker)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the conversion that made this folder has not finished ({} is there); run the "
                    "same ffconvert command again",
                    kUnfinishedMarker),
        {.path = folder.string()});
  }
}

// The folder of the split, or an error that says what there is instead.
std::filesystem::path find_split(const std::filesystem::path& folder, const std::string& split) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::not_found,
                "there is no such folder; give the folder that ffconvert wrote",
                {.path = folder.string()});
  }
  refuse_unfinished(folder);
  std::filesystem::path path = split.empty() ? folder : folder / split;
  if (std::filesystem::exists(path / kManifestName)) {
    if (split.empty() && folder.has_parent_path()) refuse_unfinished(folder.parent_path());
    return path;
  }
  const auto splits = list_splits(folder);
  if (splits.empty()) {
    throw Error(ErrorCode::not_found,
                "is not an ffkit data set: no folder in it has a manifest.json",
                {.path = folder.string()});
  }
  throw Error(
      ErrorCode::not_found,
      fmt::format("there is no split '{}'; the data set has {}", split, fmt::join(splits, ", ")),
      {.path = folder.string()});
}

}  // namespace

struct Dataset::Impl {
  std::filesystem::path path;
  Manifest manifest;
  std::vector<ShardReader> shards;
  std::vector<int64_t> first_record;  // of each shard, and the total at the end

  explicit Impl(std::filesystem::path folder)
      : path(std::move(folder)), manifest(read_manifest(path / kManifestName)) {
    first_record.push_back(0);
    for (const ManifestShard& expected : manifest.shards) {
      shards.emplace_back(path / expected.file);
      check(shards.back(), expected);
      first_record.push_back(first_record.back() + expected.num_records);
    }
  }

  void check(const ShardReader& shard, const ManifestShard& expected) const {
    std::string problem;
    if (shard.num_records() != expected.num_records || shard.file_bytes() != expected.file_bytes ||
        shard.catalog_crc32c() != expected.catalog_crc32c) {
      problem = fmt::format(
          "is not the shard that the manifest lists: {} records, {} bytes, checksum {:08x} against "
          "{}, {}, {:08x}",
          shard.num_records(), shard.file_bytes(), shard.catalog_crc32c(), expected.num_records,
          expected.file_bytes, expected.catalog_crc32c);
    } else if (const std::string difference = shard.schema().difference(manifest.schema);
               !difference.empty()) {
      problem = "does not have the manifest's schema: " + difference;
    }
    if (!problem.empty()) {
      throw Error(ErrorCode::corrupt, problem + "; copy or convert the data set again",
                  {.path = shard.path().string()});
    }
  }

  // Every shard's column, one after the other.
  template <typename T, typename ReadColumn>
  std::vector<T> concatenate(ReadColumn read_column) const {
    std::vector<T> all;
    all.reserve(static_cast<size_t>(first_record.back()));
    for (const ShardReader& shard : shards) {
      std::vector<T> part = read_column(shard);
      std::ranges::move(part, std::back_inserter(all));
    }
    return all;
  }
};

Dataset::Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Dataset Dataset::open(const std::filesystem::path& folder, const std::string& split) {
  return Dataset(std::make_shared<const Impl>(find_split(folder, split)));
}

const std::filesystem::path& Dataset::path() const {
  return impl_->path;
}
const Manifest& Dataset::manifest() const {
  return impl_->manifest;
}
const Schema& Dataset::schema() const {
  return impl_->manifest.schema;
}
int64_t Dataset::num_records() const {
  return impl_->first_record.back();
}
int64_t Dataset::num_shards() const {
  return static_cast<int64_t>(impl_->shards.size());
}
const ShardReader& Dataset::shard(int64_t shard_index) const {
  return impl_->shards.at(static_cast<size_t>(shard_index));
}

Dataset::Location Dataset::locate(int64_t record_index) const {
  if (record_index < 0 || record_index >= num_records()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no record {}; the split has {}", record_index, num_records()),
                {.path = path().string()});
  }
  const auto& firsts = impl_->first_record;
  const auto shard_index = std::ranges::upper_bound(firsts, record_index) - firsts.begin() - 1;
  const int64_t local_index = record_index - firsts[static_cast<size_t>(shard_index)];
  return {.shard_index = shard_index,
          .local_index = local_index,
          .record = shard(shard_index).locate(local_index)};
}

void Dataset::read(int64_t record_index, std::vector<std::byte>& out) const {
  const Location where = locate(record_index);
  shard(where.shard_index).read(where.local_index, out);
}

std::vector<int64_t> Dataset::int_column(const std::string& field) const {
  return impl_->concatenate<int64_t>(
      [&](const ShardReader& shard) { return shard.int_column(field); });
}

std::vector<std::string> Dataset::string_column(const std::string& field) const {
  return impl_->concatenate<std::string>(
      [&](const ShardReader& shard) { return shard.string_column(field); });
}

std::vector<std::string> list_splits(const std::filesystem::path& folder) {
  std::vector<std::string> splits;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory() && std::filesystem::exists(entry.path() / kManifestName)) {
      splits.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(splits);
  return splits;
}

}  // namespace ffkit
