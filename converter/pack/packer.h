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

#include <cstdint>
#include <functional>
#include <span>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "pack/sample_encoder.h"

namespace ffkit {

// Samples that go together: those of a shard, in record order.
struct PackUnit {
  int64_t number = 0;
  std::span<const int64_t> samples;
};

// Where samples go. Called from one thread at a time, in order.
class PackSink {
 public:
  virtual ~PackSink() = default;
  virtual void begin(int64_t unit) = 0;
  // One with an error is one that is left out.
  virtual void append(int64_t sample, EncodedSample& encoded) = 0;
  virtual void end() = 0;
};

struct PackProgress {
  int64_t num_done = 0;  // records and samples left out
  int64_t num_skipped = 0;
  int64_t record_bytes = 0;
};

// Sends every sample of `units` to `sink`; begin() and end() come for units without samples too.
// `on_progress` is called after every few samples. Blocks; throws the Error of the first bad sample
// under OnError::fail, Error(cancelled) unless all are sent already, or what the sink throws.
PackProgress pack_samples(const Source& source, size_t split, std::span<const PackUnit> units,
                          const ConvertOptions& options, const CompressionOptions& compression,
                          PackSink& sink,
                          const std::function<void(const PackProgress&)>& on_progress = {});

}  // namespace ffkit
