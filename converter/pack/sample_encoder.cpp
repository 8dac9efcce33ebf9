#include "pack/sample_encoder.h"

#include "format/errors_only.h"

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

SampleEncoder::SampleEncoder(const Source& source, size_t split,
                             const CompressionOptions& compression, OnError on_error)
    : source_(source),
      split_(split),
      schema_(source.split_schema(split)),
      compressor_(compression) {
  builder_.emplace(schema_);
  buffers_.set_on_error(on_error);
}

void SampleEncoder::encode(int64_t sample, EncodedSample& out) {
  out.error.reset();
  out.problems.clear();
  buffers_.clear();
  try {
    source_.read(split_, sample, *builder_, buffers_);
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
