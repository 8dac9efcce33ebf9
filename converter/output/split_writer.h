// SplitWriter: the shards of a split, each closed on a thread of its own while the next one is
// written.
//
//   <split>/shard-00012.ffr              complete, or it would not have this name
//   <split>/shard-00012.report.tmp       what there is to say about its samples, if anything; made
//                                        durable before the shard
//
// Both stay when a conversion ends early, and an equal one takes them over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/shard_writer.h>

#include "pack/packer.h"
#include "pack/report.h"
#include "plan/split_plan.h"

namespace ffkit {

class SplitWriter : public PackSink {
 public:
  // Makes `folder` if it is not there. `source` and `plan` must outlive the writer.
  SplitWriter(const Source& source, const SplitPlan& plan, std::filesystem::path folder);
  ~SplitWriter() override;

  // True when the shard is there, from a conversion of the same plan; it must not be made then.
  bool take_over(int64_t shard);

  void begin(int64_t shard) override;
  void append(int64_t sample, EncodedSample& encoded) override;
  // With what report_lines() gave for the sample before; without `record` it is left out.
  void append(std::span<const std::byte> record, const StoredRecord& stored,
              const std::string& report);
  void end() override;
  // Whether a sample of the present shard has a record: without any there is no shard.
  bool has_records() const { return writer_ != nullptr; }

  // Until every shard is durable.
  void wait();
  // wait(), then all shards that there are.
  std::vector<ManifestShard> finish();
  // Adds the split's lines to `report`, in record order, a shard's at a time. After finish().
  void add_lines_to(ReportFile& report) const;
  int64_t num_finished() const { return static_cast<int64_t>(finished_.size()); }

 private:
  std::filesystem::path path_of(int64_t shard) const;
  std::filesystem::path report_path_of(int64_t shard) const;

  const Source& source_;
  const SplitPlan& plan_;
  const std::filesystem::path folder_;
  std::map<int64_t, ManifestShard> finished_;
  int64_t shard_ = -1;
  std::unique_ptr<ShardWriter> writer_;  // null until the first record
  std::string report_;                   // of the present shard
  int64_t closing_shard_ = -1;
  std::unique_ptr<ShardWriter> closing_writer_;
  std::future<ShardSummary> closing_;
};

}  // namespace ffkit
