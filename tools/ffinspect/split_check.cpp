#include "split_check.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <tuple>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/error.h>

#include "progress_line.h"

namespace ffkit {
namespace {

constexpr int64_t kRecordsAtOnce = 32;

ShardProblem problem_of(const Error& error, const std::filesystem::path& file, int64_t record) {
  const bool names_file = !error.context().path.empty();
  return {.record = record,
          .offset = error.context().offset,
          .message = names_file ? error.what()
                                : Error(error.code(), error.what(),
                                        {.path = file.string(), .record = record})
                                      .what()};
}

// What is wrong with the index and the columns. Index pages of the records are checked with the records.
std::vector<ShardProblem> index_problems(const ShardReader& shard) {
  std::vector<ShardProblem> problems;
  for (const Field& field : shard.schema().fields) {
    if (!field.column) continue;
    try {
      if (field.type == FieldType::string) {
        shard.string_column(field.name);
      } else if (is_integer(field.dtype)) {
        shard.int_column(field.name);
      } else if (field.dtype == DType::f32 || field.dtype == DType::f64) {
        shard.float_column(field.name);
      }
    } catch (const Error& error) {
      problems.push_back(problem_of(error, shard.path(), -1));
    }
  }
  return problems;
}

std::optional<ShardProblem> record_problem(const ShardReader& shard, int64_t record) {
  std::vector<std::byte> bytes;
  try {
    shard.read(record, bytes);
    const RecordView view(shard.schema(), bytes);
  } catch (const Error& error) {
    return problem_of(error, shard.path(), record);
  }
  return std::nullopt;
}

// Where the shard is another than the manifest says.
std::string difference(const ShardReader& shard, const ManifestShard& listed,
                       const Schema& schema) {
  if (shard.num_records() != listed.num_records || shard.file_bytes() != listed.file_bytes ||
      shard.catalog_crc32c() != listed.catalog_crc32c) {
    return fmt::format(
        "is not the shard that the manifest lists: {} records, {} bytes, checksum {:08x} against "
        "{}, {}, {:08x}; copy or convert it again",
        shard.num_records(), shard.file_bytes(), shard.catalog_crc32c(), listed.num_records,
        listed.file_bytes, listed.catalog_crc32c);
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

void check_shard(const std::filesystem::path& file, const ManifestShard& listed,
                 const Schema& schema, int64_t first_record, DamageList& damage,
                 ProgressLine& progress) {
  std::optional<ShardReader> shard;
  try {
    shard.emplace(file);
  } catch (const Error& error) {
    damage.add(file, problem_of(error, file, -1), first_record);
    progress.add(listed.file_bytes);
    return;
  }
  if (const std::string text = difference(*shard, listed, schema); !text.empty()) {
    damage.add(file, {.message = Error(ErrorCode::corrupt, text, {.path = file.string()}).what()},
               first_record);
  }
  for (const ShardProblem& problem : index_problems(*shard)) {
    damage.add(file, problem, first_record);
  }
  const tbb::blocked_range<int64_t> all(0, shard->num_records(), kRecordsAtOnce);
  tbb::parallel_for(all, [&](const tbb::blocked_range<int64_t>& range) {
    for (int64_t i = range.begin(); i < range.end(); ++i) {
      if (const auto problem = record_problem(*shard, i); problem) {
        damage.add(file, *problem, first_record);
      }
      // The file's bytes are shown evenly over its records: asking the index for each would cost more than it shows.
      progress.add(shard->file_bytes() / shard->num_records());
    }
  });
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
                   .file_bytes = dataset.manifest().file_bytes()};
  DamageList damage;
  ProgressLine progress(check.split, check.file_bytes);
  const tbb::blocked_range<int64_t> all(0, dataset.num_records(), kRecordsAtOnce);
  tbb::parallel_for(all, [&](const tbb::blocked_range<int64_t>& range) {
    std::vector<std::byte> bytes;
    for (int64_t i = range.begin(); i < range.end(); ++i) {
      try {
        dataset.read(i, bytes);
        const RecordView view(dataset.schema(), bytes);
      } catch (const Error& error) {
        const std::filesystem::path file =
            error.context().path.empty() ? dataset.path().string() : error.context().path;
        damage.add(file, problem_of(error, file, i), 0);
      }
      progress.add(check.file_bytes / check.num_records);
    }
  });
  check.damage = damage.sorted();
  return check;
}

}  // namespace ffkit
