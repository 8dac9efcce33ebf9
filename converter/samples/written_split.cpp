#include "samples/written_split.h"

#include <utility>

#include <ffkit/base/compression.h>
#include <ffkit/base/version.h>

#include "base/make_error.h"
#include "format/dataset/manifest_text.h"

namespace ffkit {
namespace {

ConvertOptions as_convert_options(const SampleWriterOptions& options) {
  return {.num_threads = options.num_threads,
          .shard_bytes = options.shard_bytes,
          .zstd_level = options.zstd_level,
          .max_bytes_in_flight = options.max_bytes_in_flight,
          .max_record_bytes = options.max_record_bytes};
}

}  // namespace

void validate(const SampleWriterOptions& options) {
  validate(as_convert_options(options));
  if (!options.class_names.empty() && options.class_names.size() != options.classes.size()) {
    throw error_of(ErrorCode::invalid_argument,
                   "there are {} readable names for {} classes; give one for each, or none",
                   options.class_names.size(), options.classes.size());
  }
}

void require_valid_split(const std::string& split, const Schema& schema,
                         const SampleWriterOptions& options) {
  validate(options);
  validate(schema);
  if (const std::string fault = fault_of_split_name(split); !fault.empty()) {
    throw error_of(ErrorCode::invalid_argument, "a split cannot be called '{}', which {}", split,
                   fault);
  }
  static_cast<void>(RecordCompressor({.level = options.zstd_level}));
}

Manifest manifest_of_samples(const std::string& split, Schema schema,
                             const SampleWriterOptions& options) {
  Manifest manifest{.split = split,
                    .schema = std::move(schema),
                    .classes = options.classes,
                    .class_names = options.class_names,
                    .source = options.source,
                    .options = options.options,
                    .created_by = "ffkit " FFKIT_VERSION};
  manifest.options.emplace("order", to_string(RecordOrder::source));
  manifest.options["shard_bytes"] = std::to_string(options.shard_bytes);
  if (options.zstd_level != 0) {
    manifest.options["zstd_level"] = std::to_string(options.zstd_level);
    manifest.options["zstd_dictionary_bytes"] = "0";
  }
  return manifest;
}

SplitSummary summary_of(const Manifest& manifest) {
  return {.split = manifest.split,
          .num_records = manifest.num_records(),
          .num_shards = std::ssize(manifest.shards),
          .file_bytes = manifest.file_bytes(),
          .fingerprint = manifest.fingerprint()};
}

}  // namespace ffkit
