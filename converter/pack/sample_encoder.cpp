#include "pack/sample_encoder.h"

#include <algorithm>
#include <utility>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kKeptBytes = 1 << 20;

void shrink(std::vector<std::byte>& bytes) {
  if (bytes.capacity() > kKeptBytes) std::vector<std::byte>().swap(bytes);
}

}  // namespace

void EncodedSample::shrink() {
  ffkit::shrink(record);
  ffkit::shrink(compressed);
}

int64_t EncodedSample::num_bytes() const {
  return static_cast<int64_t>(std::max(record.size(), stored.bytes.size()));
}

SetFields fields_of(const Source& source, size_t split, int64_t sample) {
  return [&source, split, sample](RecordBuilder& record, SampleBuffers& buffers) {
    source.read(split, sample, record, buffers);
  };
}

SampleEncoder::SampleEncoder(Schema schema, const CompressionOptions& compression, OnError on_error,
                             uint64_t seed)
    : schema_(std::move(schema)), compressor_(compression) {
  builder_.emplace(schema_);
  buffers_.set_on_error(on_error);
  buffers_.set_seed(seed);
}

void SampleEncoder::encode(const SetFields& set_fields, EncodedSample& out) {
  out.error.reset();
  out.problems.clear();
  buffers_.clear();
  try {
    set_fields(*builder_, buffers_);
    builder_->encode(out.record);
    out.stored = compressor_.compress(out.record);
    if (out.stored.codec != Codec::none) {
      out.compressed.assign(out.stored.bytes.begin(), out.stored.bytes.end());
      out.stored.bytes = out.compressed;
    }
    out.problems = buffers_.problems();
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;  // it is not the sample that is bad
    out.error = error.with_subject(ErrorSubject::sample);
    builder_.emplace(schema_);  // forgets the fields that were set before the failure
  }
}

}  // namespace ffkit
