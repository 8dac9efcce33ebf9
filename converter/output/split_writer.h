// SplitWriter: the shards of a split, each closed on a thread of its own while the next one is
// written; in a store up to four at once, since to close is to wait for the store.
//
//   <split>/shard-00012.ffr              complete, or it would not have this name
//   <split>/shard-00012.report.tmp       what there is to say about its samples, if anything; made
//                                        durable before the shard
//
// Both stay when a conversion ends early, and an equal one takes them over. In a store they are
// objects: a shard's bytes are sent while it grows, and at most 80 MiB of each shard that is not
// complete are in memory.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
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
  // Makes `folder` if it is not there. `reports`: the folder of the shards' reports, as a rule the
  // same. `source` and `plan` must outlive the writer. `may_close` is
  // called by any thread before a shard appears; what it throws keeps it away.
  SplitWriter(const Source& source, const SplitPlan& plan, std::filesystem::path folder,
              std::filesystem::path reports, std::function<void()> may_close = {});
  ~SplitWriter() override;

  // True when the shard is there, from a conversion of the same plan; it must not be made then.
  bool take_over(int64_t shard);

  void begin(int64_t shard) override;
  void append(int64_t sample, EncodedSample& encoded) override;
  // With what report_lines() gave for the sample before; without `record` it is left out.
  void append(std::span<const std::byte> record, const StoredRecord& stored,
              const std::string& report, const ContentSum& content = {});
  void end() override;
  // Whether a sample of the present shard has a record: without any there is no shard.
  bool has_records() const { return writer_ != nullptr; }

  // Until every shard is durable.
  void wait();
  // wait(), then all shards that there are.
  std::vector<ManifestShard> finish();
  // The shards about whose samples there is something to say.
  std::vector<int64_t> reports() const;
  int64_t num_finished() const { return static_cast<int64_t>(finished_.size()); }

 private:
  struct Closing {
    int64_t shard = 0;
    std::unique_ptr<ShardWriter> writer;
    std::future<ShardSummary> summary;
  };

  std::filesystem::path path_of(int64_t shard) const;
  std::filesystem::path report_path_of(int64_t shard) const;
  bool is_there(const std::filesystem::path& path) const;
  // Waits until at most so many shards are being closed.
  void wait_for(size_t most);

  const Source& source_;
  const SplitPlan& plan_;
  const std::filesystem::path folder_;
  const std::filesystem::path reports_;
  const std::function<void()> may_close_;
  // Of a folder in a store: the names that it had in the beginning, and of reports written since.
  std::set<std::string> names_there_;
  std::map<int64_t, ManifestShard> finished_;
  int64_t shard_ = -1;
  std::unique_ptr<ShardWriter> writer_;  // null until the first record
  std::string report_;                   // of the present shard
  std::deque<Closing> closing_;
};

}  // namespace ffkit
