#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/sources/transcode.h>

#include "base/fnv.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "transcode/dataset_records.h"

namespace ffkit {

DatasetRecords::DatasetRecords(std::vector<Dataset> datasets)
    : datasets_(std::move(datasets)), ids_(std::make_unique<Ids[]>(datasets_.size())) {
  if (datasets_.empty()) {
    throw Error(ErrorCode::invalid_argument, "a source needs at least one data set");
  }
}

SampleIdentity DatasetRecords::identity(size_t split, int64_t index) const {
  const Dataset& dataset = datasets_.at(split);
  return {.name = std::to_string(index),
          .num_bytes = dataset.locate(index).record.raw_bytes,
          .content = fnv1a64(std::as_bytes(std::span(dataset.fingerprint())))};
}

std::vector<SourceInput> DatasetRecords::inputs(size_t split) const {
  const Dataset& dataset = datasets_.at(split);
  std::vector<SourceInput> inputs;
  const PlacesListed listed;
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const std::filesystem::path& path = dataset.shard(i).path();
    std::error_code none;
    const FileStamp stamp = stamp_of(path, none);
    inputs.push_back({.name = path.filename().string(),
                      .num_bytes = stamp.num_bytes,
                      .modified_ns = stamp.modified_ns});
  }
  return inputs;
}

std::optional<std::string> DatasetRecords::listed_id(size_t split, int64_t index) const {
  const Dataset& dataset = datasets_.at(split);
  const int number = dataset.schema().index_of("id");
  if (number < 0) return std::nullopt;
  const Field& field = dataset.schema().fields[static_cast<size_t>(number)];
  if (field.type != FieldType::string || !field.column) return std::nullopt;
  Ids& ids = ids_[split];
  std::call_once(ids.is_read, [&] { ids.ids = dataset.string_column("id"); });
  return ids.ids.at(static_cast<size_t>(index));
}

std::string DatasetRecords::describe(size_t split, int64_t index) const {
  const Dataset& dataset = datasets_.at(split);
  const Dataset::Location where = dataset.locate(index);
  return fmt::format("{}: record {}", dataset.shard(where.shard_index).path().string(),
                     where.local_index);
}

namespace {

namespace fs = std::filesystem;

class DatasetSource : public DatasetRecords {
 public:
  explicit DatasetSource(std::vector<Dataset> datasets) : DatasetRecords(std::move(datasets)) {
    for (const Dataset& dataset : datasets_) add(dataset);
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = datasets_.at(split).manifest().source;
    facts.erase("listing");  // of another conversion's samples
    facts["kind"] =
        fmt::format("data set, format version {}", datasets_.at(split).format_version());
    facts["path"] = absolute_name(datasets_.at(split).path());
    return facts;
  }

  std::vector<fs::path> roots() const override {
    std::vector<fs::path> folders;
    for (const Dataset& dataset : datasets_) {
      const bool is_folder =
          Place(dataset.path()).is_in_store() || fs::is_directory(dataset.path());
      if (is_folder) folders.push_back(dataset.path());
    }
    return folders;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return datasets_.at(split).locate(index).record.raw_bytes;
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
      throw source_error(dataset.path(), code, message);
    };
    if (dataset.num_records() == 0) refuse(ErrorCode::not_found, "there are no records in it");
    if (const std::string difference = dataset.schema().difference(datasets_.front().schema());
        !difference.empty()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("has other fields than {}: {}; convert them apart",
                         datasets_.front().path().string(), difference));
    }
    if (std::ranges::find(infos_, manifest.split, &SourceSplit::name) != infos_.end()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("is a second split called '{}'; convert them apart", manifest.split));
    }
    if (classes_.empty()) {
      classes_ = manifest.classes;
      class_names_ = manifest.class_names;
      class_ids_ = manifest.class_ids;
    } else if (!manifest.classes.empty() && manifest.classes != classes_) {
      refuse(ErrorCode::invalid_argument,
             "has other classes than the splits before it; convert them apart");
    }
    infos_.push_back({.name = manifest.split,
                      .num_samples = dataset.num_records(),
                      .num_bytes = dataset.is_subset() ? 0 : manifest.raw_bytes(),
                      .is_training = manifest.split.starts_with("train")});
    notes_.insert(notes_.end(), dataset.warnings().begin(), dataset.warnings().end());
  }
};

// Whether it is a folder of splits, and no split or shard itself. A web server has no lists, so a
// split of it must be named.
bool holds_splits(const fs::path& path) {
  if (!Place(path).is_in_store())
    return fs::is_directory(path) && !fs::exists(path / "manifest.json");
  const NamesIn names = names_in_folder(path);
  return !names.folders.empty() &&
         std::ranges::find(names.files, "manifest.json") == names.files.end();
}

}  // namespace

std::vector<Dataset> open_splits(const fs::path& path, const ShardReaderOptions& options) {
  std::vector<Dataset> datasets;
  if (holds_splits(path)) {
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
