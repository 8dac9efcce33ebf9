#include "output/record_comparison.h"

#include <utility>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_reader.h>

#include "pack/packer.h"
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

}  // namespace

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

}  // namespace ffkit
