#include <fmt/format.h>

#include <algorithm>

#include <ffkit/base/compression.h>
#include <ffkit/base/error.h>

#include "input/cancel.h"
#include "pack/packer.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

constexpr size_t kMaxTrainingRecords = 1000;
constexpr int64_t kMaxTrainingBytes = 256LL << 20;  // zstd wants them in one piece, beside our own

std::vector<std::vector<std::byte>> first_records(const Source& source, size_t split,
                                                  const ConvertOptions& options) {
  const int64_t enough = std::min(100 * options.zstd_dictionary_bytes, kMaxTrainingBytes);
  SampleEncoder encoder(source.split_schema(split), {}, OnError::skip, options.seed);
  EncodedSample encoded;
  std::vector<std::vector<std::byte>> records;
  int64_t num_bytes = 0;
  for (const int64_t sample : record_order(source.splits()[split], options)) {
    if (records.size() == kMaxTrainingRecords || num_bytes >= enough) break;
    throw_if_cancelled(options.cancel);
    encoder.encode(fields_of(source, split, sample), encoded);
    if (!encoded.error) {
      num_bytes += static_cast<int64_t>(encoded.record.size());
      records.push_back(encoded.record);
    } else if (options.on_error == OnError::fail) {
      throw Error(*encoded.error);
    }  // else packing will name it
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
    // Few records, or such as do not resemble each other: a dictionary is a means, not what was
    // asked for.
    if (options.note) {
      options.note(fmt::format("split '{}' is compressed without a dictionary: {}",
                               source.splits()[split].name, error.what()));
    }
  }
  return compression;
}

}  // namespace ffkit
