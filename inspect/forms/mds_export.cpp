#include "forms/mds_export.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "export/block_pipeline.h"
#include "export/shard_file.h"
#include "forms/mds_columns.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxShardBytes = std::numeric_limits<uint32_t>::max();  // offsets are u32

Json config_of(const MdsColumns& columns, int64_t shard_bytes) {
  Json names = Json::array();
  Json encodings = Json::array();
  Json sizes = Json::array();
  for (const MdsColumn& column : columns.columns()) {
    names.push_back(column.name);
    encodings.push_back(column.encoding);
    sizes.push_back(column.num_bytes > 0 ? Json(column.num_bytes) : Json(nullptr));
  }
  return {{"column_encodings", encodings}, {"column_names", names}, {"column_sizes", sizes},
          {"compression", nullptr},        {"format", "mds"},       {"hashes", Json::array()},
          {"size_limit", shard_bytes},     {"version", 2}};
}

// The shards of a split, one after the other, and their index.
//
//   | u32 samples | u32 offset[samples + 1] | the config, JSON | sample | sample | ...
class MdsShards {
 public:
  MdsShards(std::filesystem::path folder, Json config, int64_t max_bytes)
      : folder_(std::move(folder)),
        config_(std::move(config)),
        config_text_(config_.dump()),
        max_bytes_(max_bytes),
        num_bytes_(empty_bytes()) {
    make_folder(folder_);
  }

  void append(std::string sample) {
    const int64_t size = std::ssize(sample) + kOffsetBytes;
    if (!samples_.empty() && num_bytes_ + size > max_bytes_) write_shard();
    if (num_bytes_ + size > kMaxShardBytes) {
      throw error_of(ErrorCode::unsupported,
                     "has {} bytes; MDS holds 4 GiB in a shard at most; export in another form",
                     sample.size());
    }
    num_bytes_ += size;
    samples_.push_back(std::move(sample));
  }

  void finish() {
    if (!samples_.empty()) write_shard();
    const std::string index = json_text({{"shards", shards_}, {"version", 2}});
    write_new_file(folder_ / "index.json", std::as_bytes(std::span(index)));
    total_bytes_ += std::ssize(index);
  }

  // The index included.
  int64_t num_files() const { return std::ssize(shards_) + 1; }
  int64_t num_bytes() const { return total_bytes_; }

 private:
  static constexpr int64_t kOffsetBytes = sizeof(uint32_t);

  // Of a shard without samples.
  int64_t empty_bytes() const { return 2 * kOffsetBytes + std::ssize(config_text_); }

  void write_shard() {
    const std::string name = fmt::format("shard.{:05}.mds", shards_.size());
    std::vector<uint32_t> head = {static_cast<uint32_t>(samples_.size())};
    head.reserve(samples_.size() + 2);
    auto offset = static_cast<uint32_t>(empty_bytes() + std::ssize(samples_) * kOffsetBytes);
    head.push_back(offset);
    for (const std::string& sample : samples_) {
      head.push_back(offset += static_cast<uint32_t>(sample.size()));
    }
    ShardFile file(folder_ / name);
    file.write(std::as_bytes(std::span(head)));
    file.write(config_text_);
    for (const std::string& sample : samples_) {
      throw_if_stopped();
      file.write(sample);
    }
    file.close();
    Json shard = config_;
    shard["raw_data"] = {
        {"basename", name}, {"bytes", file.num_bytes()}, {"hashes", Json::object()}};
    shard["samples"] = samples_.size();
    shard["zip_data"] = nullptr;
    shards_.push_back(std::move(shard));
    total_bytes_ += file.num_bytes();
    samples_.clear();
    num_bytes_ = empty_bytes();
  }

  const std::filesystem::path folder_;
  const Json config_;
  const std::string config_text_;
  const int64_t max_bytes_;
  std::vector<std::string> samples_;
  int64_t num_bytes_ = 0;  // of the shard that `samples_` make
  int64_t total_bytes_ = 0;
  Json shards_ = Json::array();
};

}  // namespace

ExportedSplit export_mds(const ExportSource& source, const std::filesystem::path& destination,
                         int64_t shard_bytes) {
  const Dataset& dataset = source.dataset();
  const MdsColumns columns(source);
  ExportedSplit result{.split = source.split(), .num_records = dataset.num_records()};
  ProgressLine progress(result.split, dataset.manifest().file_bytes());
  MdsShards shards(destination / result.split, config_of(columns, shard_bytes), shard_bytes);
  export_records<std::string>(
      source, progress,
      {.make = [&](int64_t, const RecordView& record) { return columns.sample_of(record); },
       .place = [&](int64_t, const RecordView&,
                    std::string& sample) { shards.append(std::move(sample)); },
       .write = nullptr});
  shards.finish();
  result.num_files = shards.num_files();
  result.num_bytes = shards.num_bytes();
  for (std::string& sentence : columns.notes()) result.notes.push_back({std::move(sentence)});
  return result;
}

}  // namespace ffkit
