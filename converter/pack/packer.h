// pack_samples: the pipeline that turns samples of a split into records, in an order given
// beforehand.
//
//   units ─▶ batches of samples ─▶ read, check, encode, CRC ─▶ in order, to a PackSink
//                                  (parallel)                  (one at a time)
//
// A batch holds up to 16 samples of one unit; at most two batches a thread are under way. Whatever
// the number of threads, the sink sees the same calls, and the same bad sample is the first to be
// reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/base/compression.h>
#include <ffkit/base/error.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "identity/record_content.h"

namespace ffkit {

struct EncodedSample {
  std::vector<std::byte> record;
  StoredRecord stored;                  // points to `record` or `compressed`
  std::vector<std::byte> compressed;    // when that is smaller
  ContentSum content;                   // for ShardWriter::append()
  std::optional<Error> error;           // set: the sample is bad and there is no record
  std::vector<SampleProblem> problems;  // of a sample that there is a record of

  // What a reader of the record holds in memory at most, in one piece.
  int64_t num_bytes() const;
  // Gives back what one large sample made it hold.
  void shrink();
};

// Sets the fields of a sample, as Source::read() does.
using SetFields = std::function<void(RecordBuilder&, SampleBuffers&)>;

// Those of sample number `sample`; `source` must outlive it.
SetFields fields_of(const Source& source, size_t split, int64_t sample);

// A sample as the bytes of a record, compressed or not. Keeps its memory between samples. Not
// thread-safe: one per thread.
class SampleEncoder {
 public:
  // `bad_samples`, `seed`: of SampleBuffers. A plan is the same whatever is done about bad samples:
  // it skips them.
  SampleEncoder(Schema schema, const CompressionOptions& compression, BadSamples bad_samples,
                uint64_t seed);

  // What `set_fields` throws as Error becomes out.error, which is then about the sample: who judges
  // it wants to do so in record order.
  void encode(const SetFields& set_fields, EncodedSample& out);

 private:
  const Schema schema_;
  std::optional<RecordBuilder> builder_;
  RecordContent content_;
  RecordCompressor compressor_;
  SampleBuffers buffers_;
};

// Samples that go together: those of a shard, in record order.
struct PackUnit {
  int64_t number = 0;
  std::span<const int64_t> samples;
};

// Where samples go. Called from one thread at a time, in order.
class PackSink {
 public:
  virtual ~PackSink() = default;
  virtual void begin(int64_t /*unit*/) {}
  // One with an error is one that is left out.
  virtual void append(int64_t sample, EncodedSample& encoded) = 0;
  virtual void end() {}
};

struct PackProgress {
  int64_t num_done = 0;  // records and samples left out
  int64_t num_skipped = 0;
  int64_t record_bytes = 0;
};

// Sends every sample of `units` to `sink`; begin() and end() come for units without samples too.
// `on_progress` is called after every few samples. Blocks; throws the Error of the first bad sample
// under BadSamples::fail, Error(cancelled) unless all are sent already, or what the sink throws.
PackProgress pack_samples(const Source& source, size_t split, std::span<const PackUnit> units,
                          const ConvertOptions& options, const CompressionOptions& compression,
                          PackSink& sink,
                          const std::function<void(const PackProgress&)>& on_progress = {});

}  // namespace ffkit
