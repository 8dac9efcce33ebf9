// SampleWriter: writes one split of a data set sample by sample, and encodes in parallel.
//
//   write() ──▶ queue ──▶ set fields, encode, compress ──▶ in order ──▶ DST/<split>/shard-*.ffr
//   caller                many threads                     one by one    finish(): manifest.json
//
// Use it for samples that come one after another, such as those of a simulation. If samples can be
// listed beforehand, a Source (source.h) is better: convert() can shuffle, continue after an
// interruption, and share the work among machines. The output is the same for any number of
// threads.
//
// Readers refuse the folder of the split until finish() is done. Without finish(), all written
// files are removed; after a kill, the next SampleWriter of the same split removes them. Other
// splits may be read meanwhile. If the destination is an address ("s3://bucket/set"), shards are
// sent while they grow.
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
  // Limit of waiting samples and samples being encoded. A larger sample is encoded by itself.
  int64_t max_bytes_in_flight = 256LL << 20;
  int64_t max_record_bytes = ConvertOptions{}.max_record_bytes;
  uint64_t seed = 0;  // of SampleBuffers
  // For the manifest: the class of each label; `class_names` is empty or as long.
  std::vector<std::string> classes;
  std::vector<std::string> class_names;
  std::map<std::string, std::string> source = {{"kind", "samples"}};
  std::map<std::string, std::string> options;
  std::function<void(const std::string&)> note;  // one sentence the user should know
  // Called every 50 ms by a thread that waits in write() or finish(), without a lock. Its
  // exceptions leave write() or finish(): write() has not taken the sample then; after finish()
  // call nothing more.
  std::function<void()> poll;
};

// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const SampleWriterOptions& options);

class SampleWriter {
 public:
  // Sets the fields of one sample, like Source::read(), on any thread. Objects that it refers to
  // must outlive it. An exception ends the writing.
  using SetFields = std::function<void(RecordBuilder&, SampleBuffers&)>;

  // Makes the folder `destination` and in it the folder of the split, and starts the threads.
  // Throws Error(invalid_argument) for an invalid schema or option, and for a split that exists or
  // that another writer writes; Error(io).
  SampleWriter(const std::filesystem::path& destination, const std::string& split, Schema schema,
               const SampleWriterOptions& options = {});
  // Without finish(), removes what was written.
  ~SampleWriter();
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;

  [[nodiscard]] const Schema& schema() const noexcept;

  // Takes one sample and returns its number, from 0. `num_bytes`: the memory that it needs. Blocks
  // while too many samples wait. May be called from several threads; the order is that of the
  // calls. Throws the error of the first failed sample, as Error with its number.
  int64_t write(SetFields set_fields, int64_t num_bytes);

  // Waits for all samples, writes the manifest and makes everything durable. Throws like write(),
  // and Error(invalid_argument) without samples. Call nothing after it. Blocks.
  SplitSummary finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
