// SampleEncoder: a sample as the bytes of a record, compressed or not. Keeps its memory between
// samples. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <ffkit/base/compression.h>
#include <ffkit/base/error.h>
#include <ffkit/converter/source.h>

namespace ffkit {

struct EncodedSample {
  std::vector<std::byte> record;
  StoredRecord stored;                  // points to `record` or `compressed`
  std::vector<std::byte> compressed;    // when that is smaller
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

class SampleEncoder {
 public:
  // `on_error`, `seed`: of SampleBuffers. A plan is the same whatever is done about bad samples: it
  // skips them.
  SampleEncoder(Schema schema, const CompressionOptions& compression, OnError on_error,
                uint64_t seed);

  // What `set_fields` throws as Error becomes out.error, which is then about the sample: who judges
  // it wants to do so in record order.
  void encode(const SetFields& set_fields, EncodedSample& out);

 private:
  const Schema schema_;
  std::optional<RecordBuilder> builder_;
  RecordCompressor compressor_;
  SampleBuffers buffers_;
};

}  // namespace ffkit
