#include "dataset_records.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <ffkit/base/error.h>

#include "base/fnv.h"
#include "converter/input/input_file.h"
#include "converter/places/place.h"

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

}  // namespace ffkit
