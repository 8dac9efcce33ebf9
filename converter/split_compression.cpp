#include <fmt/format.h>

#include <algorithm>

#include <ffkit/converter/packer.h>
#include <ffkit/format/compression.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

constexpr size_t kMaxTrainingRecords = 1000;
constexpr int64_t kMaxTrainingBytes = 256LL << 20;  // zstd wants them in one piece, beside our own

std::vector<std::vector<std::byte>> first_records(const Source& source, size_t split,
                                                  const ConvertOptions& options) {
  const int64_t enough = std::min(100 * options.zstd_dictionary_bytes, kMaxTrainingBytes);
  const Schema schema = source.schema();
  SampleBuffers buffers;
  std::vector<std::vector<std::byte>> records;
  int64_t num_bytes = 0;
  for (const int64_t sample : record_order(source.splits()[split], options)) {
    if (records.size() == kMaxTrainingRecords || num_bytes >= enough) break;
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
      throw Error(ErrorCode::cancelled, "stopped on request");
    }
    buffers.clear();
    try {
      RecordBuilder builder(schema);
      source.read(split, sample, builder, buffers);
      std::vector<std::byte> record;
      builder.encode(record);
      num_bytes += static_cast<int64_t>(record.size());
      records.push_back(std::move(record));
    } catch (const Error&) {
      if (options.on_error == OnError::fail) throw;  // else packing will name it
    }
  }
  return records;
}

}  // namespace

CompressionOptions split_compression(const Source& source, size_t split,
                                     const ConvertOptions& options) {
  validate(options);
  CompressionOptions compression{.level = options.zstd_level};
  if (options.zstd_dictionary_bytes == 0) return compression;
  const std::vector<std::vector<std::byte>> records = first_records(source, split, options);
  try {
    compression.dictionary = train_dictionary(records, options.zstd_dictionary_bytes);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("split '{}': {}", source.splits()[split].name, error.what()));
  }
  return compression;
}

}  // namespace ffkit
