#include "split_check.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <tuple>

#include <ffkit/format/error.h>

#include "progress_line.h"

namespace ffkit {
namespace {

constexpr int64_t kRecordsAtOnce = 32;

ShardProblem problem_of(const Error& error, const std::filesystem::path& file) {
  const bool names_file = !error.context().path.empty();
  return {.offset = error.context().offset,
          .message = names_file
                         ? error.what()
                         : Error(error.code(), error.what(), {.path = file.string()}).what()};
}

// Where the shard is another than the manifest says.
std::string difference(const ShardReader& shard, const ManifestShard& listed,
                       const Schema& schema) {
  const ShardFacts facts = shard.facts();
  if (facts.num_records != listed.num_records || facts.file_bytes != listed.file_bytes ||
      facts.checksum != listed.catalog_crc32c) {
    return fmt::format(
        "is not the shard that the manifest lists: {} records, {} bytes, checksum {:08x} against "
        "{}, {}, {:08x}; copy or convert it again",
        facts.num_records, facts.file_bytes, facts.checksum, listed.num_records, listed.file_bytes,
        listed.catalog_crc32c);
  }
  const std::string other = shard.schema().difference(schema);
  return other.empty() ? "" : "does not have the manifest's schema: " + other;
}

// Collects damage from all threads.
class DamageList {
 public:
  void add(const std::filesystem::path& file, const ShardProblem& problem, int64_t first_record) {
    const std::scoped_lock lock(mutex_);
    list_.push_back({first_record,
                     {.file = file.string(),
                      .record = problem.record,
                      .record_index = problem.record < 0 ? -1 : first_record + problem.record,
                      .offset = problem.offset,
                      .message = problem.message}});
  }
  // In the order of shards, records (the shard itself first) and offsets.
  std::vector<Damage> sorted() {
    std::ranges::stable_sort(list_, {}, [](const Entry& entry) {
      return std::tuple(entry.first_record, entry.damage.file, entry.damage.record,
                        entry.damage.offset);
    });
    std::vector<Damage> result;
    for (Entry& entry : list_) result.push_back(std::move(entry.damage));
    return result;
  }

 private:
  struct Entry {
    int64_t first_record = 0;
    Damage damage;
  };
  std::mutex mutex_;
  std::vector<Entry> list_;
};

// Index, columns and records of an open shard.
void check_content(const ShardReader& shard, int64_t first_record, DamageList& damage,
                   ProgressLine& progress) {
  for (const ShardProblem& problem : shard.verify_index()) {
    damage.add(shard.path(), problem, first_record);
  }
  if (shard.num_records() == 0) return;
  // The file's bytes are shown evenly over its records: asking the index for each would cost more than it shows.
  const int64_t bytes_shown = shard.facts().file_bytes / shard.num_records();
  const tbb::blocked_range<int64_t> all(0, shard.num_records(), kRecordsAtOnce);
  tbb::parallel_for(all, [&](const tbb::blocked_range<int64_t>& range) {
    for (int64_t i = range.begin(); i < range.end(); ++i) {
      if (const auto problem = shard.verify_record(i); problem) {
        damage.add(shard.path(), *problem, first_record);
      }
      progress.add(bytes_shown);
    }
  });
}

void check_shard(const std::filesystem::path& file, const ManifestShard& listed,
                 const Schema& schema, int64_t first_record, DamageList& damage,
                 ProgressLine& progress) {
  std::optional<ShardReader> shard;
  try {
    shard.emplace(file);
  } catch (const Error& error) {
    damage.add(file, problem_of(error, file), first_record);
    progress.add(listed.file_bytes);
    return;
  }
  if (const std::string text = difference(*shard, listed, schema); !text.empty()) {
    damage.add(file, {.message = Error(ErrorCode::corrupt, text, {.path = file.string()}).what()},
               first_record);
  }
  check_content(*shard, first_record, damage, progress);
}

}  // namespace

SplitCheck check_split_folder(const std::filesystem::path& folder) {
  SplitCheck check{.path = folder.string(), .split = folder.filename().string()};
  const std::filesystem::path manifest_file = folder / "manifest.json";
  Manifest manifest;
  try {
    manifest = read_manifest(manifest_file);
  } catch (const Error& error) {
    check.damage.push_back({.file = manifest_file.string(), .message = error.what()});
    return check;
  }
  check.split = manifest.split;
  check.num_records = manifest.num_records();
  check.num_shards = std::ssize(manifest.shards);
  check.file_bytes = manifest.file_bytes();
  std::vector<int64_t> first_record = {0};
  for (const ManifestShard& shard : manifest.shards) {
    first_record.push_back(first_record.back() + shard.num_records);
  }
  DamageList damage;
  ProgressLine progress(check.split, check.file_bytes);
  tbb::parallel_for(size_t{0}, manifest.shards.size(), [&](size_t i) {
    check_shard(folder / manifest.shards[i].file, manifest.shards[i], manifest.schema,
                first_record[i], damage, progress);
  });
  check.damage = damage.sorted();
  return check;
}

SplitCheck check_opened(const Dataset& dataset) {
  SplitCheck check{.path = dataset.path().string(),
                   .split = dataset.manifest().split,
                   .num_records = dataset.num_records(),
                   .num_shards = dataset.num_shards(),
                   .file_bytes = dataset.manifest().file_bytes(),
                   .warnings = dataset.warnings()};
  DamageList damage;
  ProgressLine progress(check.split, check.file_bytes);
  std::vector<int64_t> first_record = {0};
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    first_record.push_back(first_record.back() + dataset.shard(i).num_records());
  }
  tbb::parallel_for(int64_t{0}, dataset.num_shards(), [&](int64_t i) {
    check_content(dataset.shard(i), first_record[static_cast<size_t>(i)], damage, progress);
  });
  check.damage = damage.sorted();
  return check;
}

}  // namespace ffkit
