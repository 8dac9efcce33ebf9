#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/packer.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/error.h>

#include "destination.h"
#include "destination_checks.h"
#include "report.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

void note(const ConvertOptions& options, const std::string& sentence) {
  if (options.note) options.note(sentence);
}

// What the records need beyond the files is less than 1 in 20 for photographs and is left to chance.
int64_t bytes_needed(const Source& source) {
  const auto& splits = source.splits();
  return std::accumulate(
      splits.begin(), splits.end(), int64_t{0},
      [](int64_t sum, const SourceSplit& split) { return sum + split.num_bytes; });
}

Manifest make_manifest(const Source& source, size_t split, const ConvertOptions& options) {
  Manifest manifest{.split = source.splits()[split].name,
                    .schema = source.schema(),
                    .classes = source.classes(),
                    .class_names = source.class_names(),
                    .source = source.facts(split),
                    .options = {{"order", to_string(options.order)},
                                {"seed", std::to_string(options.seed)},
                                {"shard_bytes", std::to_string(options.shard_bytes)},
                                {"on_error", to_string(options.on_error)}},
                    .created_by = "ffconvert " FFKIT_VERSION};
  if (options.zstd_level != 0) {
    manifest.options["zstd_level"] = std::to_string(options.zstd_level);
    manifest.options["zstd_dictionary_bytes"] = std::to_string(options.zstd_dictionary_bytes);
  }
  manifest.options.merge(source.options());
  return manifest;
}

SplitSummary convert_split(const Source& source, size_t split, const Destination& destination,
                           const ConvertOptions& options, SkipReport& report) {
  const std::string& name = source.splits()[split].name;
  DatasetWriter writer(destination.folder() / name, make_manifest(source, split, options),
                       {.shard_bytes = options.shard_bytes,
                        .compression = split_compression(source, split, options)});
  const PackResult packed =
      pack_split(source, split, options, writer,
                 [&report](const SkippedSample& sample) { report.add(sample); });
  if (packed.num_records == 0) {
    throw Error(ErrorCode::corrupt,
                fmt::format("split '{}': none of the {} pictures could be read, the first being {}",
                            name, packed.num_skipped, source.describe(split, 0)));
  }
  const Manifest manifest = writer.finish();
  return {.split = name,
          .num_records = packed.num_records,
          .num_skipped = packed.num_skipped,
          .num_shards = static_cast<int64_t>(manifest.shards.size()),
          .file_bytes = manifest.file_bytes(),
          .fingerprint = manifest.fingerprint()};
}

int64_t sum(const std::vector<SplitSummary>& splits, int64_t SplitSummary::*member) {
  int64_t total = 0;
  for (const SplitSummary& split : splits) total += split.*member;
  return total;
}

}  // namespace

int64_t ConvertSummary::num_records() const {
  return sum(splits, &SplitSummary::num_records);
}
int64_t ConvertSummary::num_skipped() const {
  return sum(splits, &SplitSummary::num_skipped);
}
int64_t ConvertSummary::num_shards() const {
  return sum(splits, &SplitSummary::num_shards);
}
int64_t ConvertSummary::file_bytes() const {
  return sum(splits, &SplitSummary::file_bytes);
}

void check_destination(const fs::path& destination) {
  try {
    Destination::require_usable(destination);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, "cannot be examined",
                {.path = destination.string(), .errno_value = error.code().value()});
  }
}

ConvertSummary convert(const Source& source, const fs::path& destination,
                       const ConvertOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  validate(options);
  refuse_destination_inside(source.roots(), destination);
  ConvertSummary summary{.num_classes = static_cast<int64_t>(source.classes().size())};
  try {
    Destination claimed(destination);
    if (claimed.started_over()) {
      note(options, fmt::format("{}: an unfinished conversion was found and removed; starting over",
                                destination.string()));
    }
    require_free_space(bytes_needed(source), claimed.folder());
    SkipReport report(claimed.report_path());
    for (size_t split = 0; split < source.splits().size(); ++split) {
      summary.splits.push_back(convert_split(source, split, claimed, options, report));
    }
    report.finish();
    claimed.commit();
  } catch (const Error& error) {
    rethrow_with_remedy(error);
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace ffkit
