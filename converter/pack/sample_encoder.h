// SampleEncoder: what a source reads, as the bytes of a record, compressed or not. Keeps its memory
// between samples. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/compression.h>
#include <ffkit/format/error.h>

namespace ffkit {

struct EncodedSample {
  std::vector<std::byte> record;
  StoredRecord stored;                  // points to `record` or `compressed`
  std::vector<std::byte> compressed;    // when that is smaller
  std::optional<Error> error;           // set: the sample is bad and there is no record
  std::vector<SampleProblem> problems;  // of a sample that there is a record of

  // Gives back what one large sample made it hold.
  void shrink();
};

class SampleEncoder {
 public:
  // `source` must outlive the encoder. `on_error`: of SampleBuffers. A plan is the same whatever is
  // done about bad samples: it skips them.
  SampleEncoder(const Source& source, size_t split, const CompressionOptions& compression,
                OnError on_error);

  // What the source throws as Error becomes out.error, which is then about the sample: who judges it
  // wants to do so in record order.
  void encode(int64_t sample, EncodedSample& out);

 private:
  const Source& source_;
  const size_t split_;
  const Schema schema_;
  std::optional<RecordBuilder> builder_;
  RecordCompressor compressor_;
  SampleBuffers buffers_;
};

}  // namespace ffkit
