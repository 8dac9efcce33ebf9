#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <ffkit/converter/v1.h>
#include <ffkit/format/error.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/v1_writer.h>

#include "cancel.h"
#include "destination.h"
#include "destination_checks.h"
#include "format/file.h"
#include "format/pickle.h"
#include "v1_payload.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRecordsBetweenReports = 64;

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// Which records of `dataset` go into which part.
std::vector<Range> cut_into_parts(const Dataset& dataset, int64_t shard_bytes) {
  const int64_t num_records = dataset.num_records();
  std::vector<Range> parts;
  int64_t begin = 0;
  if (shard_bytes > 0) {
    int64_t num_bytes = 0;
    for (int64_t i = 0; i < num_records; ++i) {
      num_bytes += dataset.locate(i).record.raw_bytes;
      if (num_bytes < shard_bytes) continue;
      parts.push_back({begin, i + 1});
      begin = i + 1;
      num_bytes = 0;
    }
  } else if (!dataset.is_subset()) {
    for (int64_t shard = 0; shard < dataset.num_shards(); ++shard) {
      const int64_t end = begin + dataset.shard(shard).num_records();
      parts.push_back({begin, end});
      begin = end;
    }
  }
  if (begin < num_records || parts.empty()) parts.push_back({begin, num_records});
  return parts;
}

class SplitWriter {
 public:
  SplitWriter(const Dataset& dataset, V1Content content, const V1Options& options)
      : dataset_(dataset),
        options_(options),
        payloads_(dataset.schema(), content, options.field),
        keeps_labels_(content == V1Content::imagenet &&
                      dataset.manifest().split.starts_with("train")) {}

  // Writes the parts into the new folder `folder`.
  SplitSummary write(const fs::path& folder) {
    fs::create_directory(folder);
    const std::vector<Range> parts = cut_into_parts(dataset_, options_.shard_bytes);
    for (size_t i = 0; i < parts.size(); ++i) {
      V1Writer writer(folder / fmt::format("PART_{:05}.ffr", i), parts[i].end - parts[i].begin);
      for (int64_t record = parts[i].begin; record < parts[i].end; ++record) append(record, writer);
      file_bytes_ += writer.finish();
    }
    report(dataset_.num_records());
    return {.split = dataset_.manifest().split,
            .num_records = dataset_.num_records(),
            .num_shards = static_cast<int64_t>(parts.size()),
            .file_bytes = file_bytes_};
  }

  // Of a training split with ImageNet's payload, after write().
  const std::vector<int64_t>& labels() const { return labels_; }

 private:
  void append(int64_t index, V1Writer& writer) {
    throw_if_cancelled(options_.cancel);
    const Dataset::Location where = dataset_.locate(index);
    const ShardReader& shard = dataset_.shard(where.shard_index);
    const RecordView record(dataset_.schema(), shard.read(where.local_index, buffer_, unpacker_));
    try {
      const V1Payloads::Payload payload = payloads_.make(record);
      writer.append(payload.bytes);
      if (keeps_labels_) labels_.push_back(payload.label);
      bytes_done_ += static_cast<int64_t>(payload.bytes.size());
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw Error(error.code(), error.what(),
                  {.path = shard.path().string(), .record = where.local_index});
    }
    if (index % kRecordsBetweenReports == 0) report(index);
  }

  void report(int64_t num_done) const {
    if (!options_.progress || dataset_.num_records() == 0) return;
    options_.progress({.split = dataset_.manifest().split,
                       .num_samples = dataset_.num_records(),
                       .num_done = num_done,
                       .bytes_done = bytes_done_});
  }

  const Dataset& dataset_;
  const V1Options& options_;
  V1Payloads payloads_;
  const bool keeps_labels_;
  RecordUnpacker unpacker_;
  std::vector<std::byte> buffer_;
  std::vector<int64_t> labels_;
  int64_t bytes_done_ = 0;
  int64_t file_bytes_ = 0;
};

V1Content resolve(const std::vector<Dataset>& splits, const V1Options& options) {
  if (options.content != V1Content::automatic) return options.content;
  const bool fits = std::ranges::all_of(splits, [&](const Dataset& split) {
    return V1Payloads::fits_imagenet(split.schema(), options.field);
  });
  return fits ? V1Content::imagenet : V1Content::raw;
}

// Before anything is written: the splits have what is needed.
void check(const std::vector<Dataset>& splits, V1Content content, const V1Options& options) {
  if (splits.empty()) {
    throw Error(ErrorCode::invalid_argument, "there is no split to write as FFRecord v1");
  }
  std::vector<std::string> names;
  for (const Dataset& split : splits) {
    const std::string& name = split.manifest().split;
    if (std::ranges::find(names, name) != names.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("is a second split called '{}'; write them apart", name),
                  {.path = split.path().string()});
    }
    names.push_back(name);
    std::vector<std::string> left_out;
    try {
      left_out = V1Payloads(split.schema(), content, options.field).left_out();
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), {.path = split.path().string()});
    }
    if (!left_out.empty() && options.note) {
      options.note(fmt::format("{}: FFRecord v1 has no fields; left out: {}", name,
                               fmt::join(left_out, ", ")));
    }
  }
}

// The bytes that will be written, where that can be told from the manifests.
int64_t bytes_needed(const std::vector<Dataset>& splits, V1Content content) {
  int64_t sum = 0;
  for (const Dataset& split : splits) {
    const bool is_most_of_it = content == V1Content::imagenet || split.schema().fields.size() == 1;
    if (is_most_of_it && !split.is_subset()) sum += split.manifest().raw_bytes();
  }
  return sum;
}

void write_meta(const fs::path& path, const std::vector<std::string>& classes,
                const std::vector<int64_t>& targets) {
  fs::path temporary = path;
  temporary += ".tmp";
  File file = File::create(temporary);
  file.write(pickle_class_list(classes, targets));
  file.sync();
  file.close();
  rename_durably(temporary, path);
}

}  // namespace

V1Content parse_v1_content(std::string_view name) {
  if (name == "auto") return V1Content::automatic;
  if (name == "raw") return V1Content::raw;
  if (name == "imagenet") return V1Content::imagenet;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the payload is '{}'; it must be auto, raw or imagenet", name));
}

ConvertSummary write_v1(const std::vector<Dataset>& splits, const fs::path& destination,
                        const V1Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const V1Content content = resolve(splits, options);
  check(splits, content, options);
  std::vector<fs::path> roots;
  for (const Dataset& split : splits) {
    if (fs::is_directory(split.path())) roots.push_back(split.path());
  }
  refuse_destination_inside(roots, destination);

  ConvertSummary summary;
  try {
    Destination claimed(destination);
    require_free_space(bytes_needed(splits, content), claimed.folder());
    std::vector<std::string> classes;
    std::vector<int64_t> targets;
    for (const Dataset& split : splits) {
      SplitWriter writer(split, content, options);
      summary.splits.push_back(writer.write(claimed.folder() / (split.manifest().split + ".ffr")));
      if (targets.empty()) targets = writer.labels();
      if (classes.empty()) classes = split.manifest().classes;
    }
    summary.num_classes = static_cast<int64_t>(classes.size());
    if (content == V1Content::imagenet) write_meta(claimed.v1_meta_path(), classes, targets);
    claimed.commit();
  } catch (const Error& error) {
    rethrow_with_remedy(error);
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace ffkit
