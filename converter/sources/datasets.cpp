#include <fmt/format.h>

#include <algorithm>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "format/fnv.h"
#include "input/input_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

class DatasetSource : public Source {
 public:
  explicit DatasetSource(std::vector<Dataset> datasets) : datasets_(std::move(datasets)) {
    if (datasets_.empty()) {
      throw Error(ErrorCode::invalid_argument, "a source needs at least one data set");
    }
    for (const Dataset& dataset : datasets_) add(dataset);
  }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return datasets_.front().schema(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const std::vector<std::string>& notes() const override { return notes_; }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = datasets_.at(split).manifest().source;
    facts.erase("listing");  // of another conversion's samples
    facts["kind"] =
        fmt::format("data set, format version {}", datasets_.at(split).format_version());
    facts["path"] = fs::absolute(datasets_.at(split).path()).string();
    return facts;
  }

  std::vector<fs::path> roots() const override {
    std::vector<fs::path> folders;
    for (const Dataset& dataset : datasets_) {
      if (fs::is_directory(dataset.path())) folders.push_back(dataset.path());
    }
    return folders;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return datasets_.at(split).locate(index).record.raw_bytes;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const Dataset& dataset = datasets_.at(split);
    return {.name = std::to_string(index),
            .num_bytes = sample_bytes(split, index),
            .content = fnv1a64(std::as_bytes(std::span(dataset.fingerprint())))};
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const Dataset& dataset = datasets_.at(split);
    std::vector<SourceInput> inputs;
    for (int64_t i = 0; i < dataset.num_shards(); ++i) {
      const fs::path& path = dataset.shard(i).path();
      std::error_code none;
      const FileStamp stamp = stamp_of(path, none);
      inputs.push_back({.name = path.filename().string(),
                        .num_bytes = stamp.num_bytes,
                        .modified_ns = stamp.modified_ns});
    }
    return inputs;
  }

  std::string describe(size_t split, int64_t index) const override {
    const Dataset& dataset = datasets_.at(split);
    const Dataset::Location where = dataset.locate(index);
    return fmt::format("{}: record {}", dataset.shard(where.shard_index).path().string(),
                       where.local_index);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const Dataset& dataset = datasets_.at(split);
    std::vector<std::byte>& bytes = buffers.array();
    dataset.read(index, bytes);
    const RecordView view(dataset.schema(), bytes, dataset.name(index));
    for (size_t field = 0; field < dataset.schema().fields.size(); ++field) {
      record.set_raw(field, view.field(field));
    }
  }

 private:
  void add(const Dataset& dataset) {
    const Manifest& manifest = dataset.manifest();
    const auto refuse = [&dataset](ErrorCode code, const std::string& message) {
      throw Error(code, message, {.path = dataset.path().string()});
    };
    if (dataset.num_records() == 0) refuse(ErrorCode::not_found, "there are no records in it");
    if (const std::string difference = dataset.schema().difference(datasets_.front().schema());
        !difference.empty()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("has other fields than {}: {}; convert them apart",
                         datasets_.front().path().string(), difference));
    }
    if (std::ranges::find(splits_, manifest.split, &SourceSplit::name) != splits_.end()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("is a second split called '{}'; convert them apart", manifest.split));
    }
    if (classes_.empty()) {
      classes_ = manifest.classes;
      class_names_ = manifest.class_names;
    } else if (!manifest.classes.empty() && manifest.classes != classes_) {
      refuse(ErrorCode::invalid_argument,
             "has other classes than the splits before it; convert them apart");
    }
    splits_.push_back({.name = manifest.split,
                       .num_samples = dataset.num_records(),
                       .num_bytes = dataset.is_subset() ? 0 : manifest.raw_bytes(),
                       .is_training = manifest.split.starts_with("train")});
    notes_.insert(notes_.end(), dataset.warnings().begin(), dataset.warnings().end());
  }

  const std::vector<Dataset> datasets_;
  std::vector<SourceSplit> splits_;
  std::vector<std::string> classes_;
  std::vector<std::string> class_names_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<Dataset> open_splits(const fs::path& path, const ShardReaderOptions& options) {
  std::vector<Dataset> datasets;
  if (fs::is_directory(path) && !fs::exists(path / "manifest.json")) {
    for (const std::string& split : list_splits(path)) {
      datasets.push_back(Dataset::open(path, split, options));
    }
  }
  if (datasets.empty()) datasets.push_back(Dataset::open(path, "", options));
  return datasets;
}

std::unique_ptr<Source> open_datasets(std::vector<Dataset> splits) {
  return std::make_unique<DatasetSource>(std::move(splits));
}

}  // namespace ffkit
