#include "output/record_comparison.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_reader.h>

#include "input/cancel.h"
#include "input/grouped_source.h"
#include "output/own_names.h"
#include "output/task_description.h"
#include "pack/packer.h"
#include "plan/split_plan.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct Changed {
  int64_t sample;
};

// Takes records as SplitWriter does, and throws Changed at the first that is another one.
class RecordComparison : public PackSink {
 public:
  explicit RecordComparison(fs::path folder) : folder_(std::move(folder)) {}

  void begin(int64_t unit) override {
    const fs::path path = folder_ / shard_file_name(unit);
    shard_.reset();
    if (is_file_at(path)) shard_.emplace(path);
    next_ = 0;
  }

  void append(int64_t sample, EncodedSample& encoded) override {
    last_ = sample;
    if (encoded.error) return;  // it has no record, then as now: end() counts them
    if (!shard_ || next_ == shard_->num_records()) throw Changed{sample};
    const RecordLocation then = shard_->locate(next_++);
    const StoredRecord& now = encoded.stored;
    if (then.checksum != now.crc32c || then.codec != now.codec ||
        std::cmp_not_equal(then.stored_bytes, now.bytes.size()) ||
        std::cmp_not_equal(then.raw_bytes, encoded.record.size())) {
      throw Changed{sample};
    }
  }

  void end() override {
    if (shard_ && next_ != shard_->num_records()) throw Changed{last_};
  }

 private:
  const fs::path folder_;
  std::optional<ShardReader> shard_;
  int64_t next_ = 0;
  int64_t last_ = 0;
};

std::optional<std::string> first_changed_sample(const Source& source, const SplitPlan& plan,
                                                const fs::path& folder, MissingShards missing,
                                                const ConvertOptions& options) {
  std::vector<PackUnit> units = plan.units();
  if (missing == MissingShards::unwritten) {
    std::erase_if(units, [&folder](const PackUnit& unit) {
      return !is_file_at(folder / shard_file_name(unit.number));
    });
  }
  RecordComparison comparison(folder);
  try {
    pack_samples(source, plan.split, units, options, plan.compression, comparison);
  } catch (const Changed& changed) {
    return source.describe(plan.split, changed.sample);
  }
  return std::nullopt;
}

std::optional<std::string> first_changed_in_groups(const GroupedSource& source,
                                                   const SplitPlan& files, const fs::path& folder,
                                                   MissingShards missing,
                                                   const ConvertOptions& options) {
  const auto there = files_there(folder);
  for (int64_t group = files.begin_shard; group < files.end_shard; ++group) {
    throw_if_cancelled(options.cancel);
    const bool has_shards = std::ranges::any_of(there, [&](const auto& file) {
      const std::optional<int64_t> number = number_of_shard(file.first);
      return number && *number / kShardsOfGroup == group;
    });
    if (!has_shards && missing == MissingShards::unwritten) continue;
    const std::unique_ptr<Source> samples = source.open_group(files.split, files.samples(group));
    if (!samples && has_shards) return source.describe(files.split, files.samples(group).front());
    if (!samples) continue;
    const SplitPlan plan = plan_group(*samples, files, group, options);
    auto changed = first_changed_sample(*samples, plan, folder, missing, options);
    if (changed) return changed;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> first_changed(const Source& source, const SplitPlan& plan,
                                         const fs::path& folder, MissingShards missing,
                                         const ConvertOptions& options) {
  return plan.is_of_files
             ? first_changed_in_groups(*as_grouped(source), plan, folder, missing, options)
             : first_changed_sample(source, plan, folder, missing, options);
}

}  // namespace ffkit
