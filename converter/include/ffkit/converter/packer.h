// pack_split: the pipeline that turns one split of a source into records, in an order given
// beforehand.
//
//   order ─▶ batches of samples ─▶ read, check, encode, CRC ─▶ append in order ─▶ DatasetWriter
//                                  (parallel)                  (one at a time)
//
// A batch holds up to 16 samples; at most two batches a thread are under way. Whatever the number
// of threads, the same records are appended in the same order, and the same bad sample is the first
// to be reported.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/dataset_writer.h>

namespace ffkit {

// A sample that was left out under OnError::skip.
struct SkippedSample {
  std::string split;
  std::string source;  // Source::describe()
  std::string reason;
};

struct PackResult {
  int64_t num_records = 0;
  int64_t num_skipped = 0;
  int64_t record_bytes = 0;
};

// The order in which the samples of a split are written: the identity, or under
// RecordOrder::shuffled and a training split the permutation specified in converter/README.md. A
// pure function of its arguments.
std::vector<int64_t> record_order(const SourceSplit& split, const ConvertOptions& options);

// What the records of `split` are to be compressed with: the level, and the dictionary, trained on the split's first records in
// record order: 1,000, or as many as have 100 times the dictionary's bytes (and at most 256 MiB). The same for any number of threads. Throws
// the Error of the first bad sample under OnError::fail, Error(invalid_argument) when the records are too few to train on.
CompressionOptions split_compression(const Source& source, size_t split,
                                     const ConvertOptions& options);

// Appends every sample of `split` to `writer`; does not finish it. `on_skip` is called in record
// order. Blocks; throws the Error of the first bad sample under OnError::fail, Error(cancelled), or
// what writing throws.
PackResult pack_split(const Source& source, size_t split, const ConvertOptions& options,
                      DatasetWriter& writer,
                      const std::function<void(const SkippedSample&)>& on_skip = {});

}  // namespace ffkit
