// SampleWriter: one split of a data set, written as its samples come, and encoded in parallel.
//
//   write() ──▶ queue ──▶ set fields, encode, compress ──▶ in order ──▶ DST/<split>/shard-*.ffr
//   caller                many threads                     one by one    finish(): manifest.json
//
// A SampleWriter is for samples that come one after another, such as those of a simulation. For
// samples that can be listed beforehand a Source (source.h) is better: convert() shuffles it,
// continues after an interruption, and shares the work among machines. The output is the same for
// any number of threads.
//
// Readers refuse the split's folder until finish() is done. Without finish() everything that was
// written is removed; after a kill, the next SampleWriter of the same split removes it. Other
// splits of the data set may be read meanwhile. A destination may be an address of a store
// ("s3://bucket/set"): shards are sent while they grow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/schema.h>

namespace ffkit {

struct SampleWriterOptions {
  int num_threads = 0;                // 0: one a processor this process may use; at most 1024
  int64_t shard_bytes = 256LL << 20;  // a shard is closed once it holds this much; 1 MiB or more
  int zstd_level = 0;                 // as in ConvertOptions
  // Samples that wait or are being encoded; a larger one still gets through, alone.
  int64_t max_bytes_in_flight = 256LL << 20;
  int64_t max_record_bytes = ConvertOptions{}.max_record_bytes;
  uint64_t seed = 0;  // of SampleBuffers
  // For the manifest. Class i is what label i stands for; `class_names` is empty or as long.
  std::vector<std::string> classes;
  std::vector<std::string> class_names;
  std::map<std::string, std::string> source = {{"kind", "samples"}};
  std::map<std::string, std::string> options;
  std::function<void(const std::string&)> note;  // one sentence the user should know
  // Called every 50 ms by a thread that waits in write() or finish(), with no lock held. What it
  // throws comes out of them: write() has not taken its sample then, and after finish() nothing may
  // be called.
  std::function<void()> poll;
};

// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const SampleWriterOptions& options);

class SampleWriter {
 public:
  // Sets the fields of one sample, as Source::read() does, on any thread: what it refers to must
  // live as long as it does. What it throws ends the writing.
  using SetFields = std::function<void(RecordBuilder&, SampleBuffers&)>;

  // Makes the folder `destination` and in it that of the split, and starts the threads. Throws
  // Error(invalid_argument) for a schema or an option that cannot be, for a split that is there, or
  // that another one writes; Error(io).
  SampleWriter(const std::filesystem::path& destination, const std::string& split, Schema schema,
               const SampleWriterOptions& options = {});
  // Without finish(), removes what was written.
  ~SampleWriter();
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;

  [[nodiscard]] const Schema& schema() const noexcept;

  // Hands over one sample and returns its number, from 0. `num_bytes`: how much memory it holds.
  // Blocks while too much is waiting. May be called from several threads; the order is that of the
  // calls. Throws what an earlier sample has thrown, the first one in their order, and as Error
  // with the number of that sample.
  int64_t write(SetFields set_fields, int64_t num_bytes);

  // Waits for all samples, writes the manifest and makes everything durable. Throws as write(), and
  // Error(invalid_argument) when there were none. Nothing may be called after it. Blocks.
  SplitSummary finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
