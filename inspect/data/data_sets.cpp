#include "data/data_sets.h"

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/packed_folder.h>

#include "base/make_error.h"
#include "format/schema/label_field.h"

namespace ffkit {
namespace {

std::string element(const std::vector<std::string>& list, int64_t index) {
  if (index < 0 || index >= std::ssize(list)) return "";
  return list[index];
}

std::vector<Dataset> open_whole_splits(const Target& target) {
  const std::filesystem::path path = target.path;
  if (!target.split.empty()) return {Dataset::open(path, target.split, target.reader)};
  if (may_be_folder(path) && !is_split_folder(path)) {
    std::vector<Dataset> all;
    for (const std::string& name : list_splits(path)) {
      all.push_back(Dataset::open(path, name, target.reader));
    }
    if (!all.empty()) return all;
  }
  return {Dataset::open(path, "", target.reader)};  // says what is wrong when it is not a data set
}

}  // namespace

bool may_be_folder(const std::filesystem::path& path) {
  return !is_local(path) || std::filesystem::is_directory(path);
}

std::vector<Dataset> open_splits(const Target& target) {
  std::vector<Dataset> splits = open_whole_splits(target);
  if (!target.indices.empty()) {
    if (splits.size() > 1) {
      throw error_at(target.path, ErrorCode::invalid_argument,
                     "an index file belongs to one split of several; say which with --split");
    }
    splits.front() = splits.front().subset(read_index_file(target.indices));
  }
  if (!target.where.empty()) {
    const Filter filter = parse_filter(target.where);
    for (Dataset& dataset : splits) dataset = dataset.where(filter);
  }
  return splits;
}

Dataset open_one_split(const Target& target) {
  std::vector<Dataset> all = open_splits(target);
  if (all.size() > 1) {
    throw error_at(target.path, ErrorCode::invalid_argument,
                   "the data set has several splits; say which with --split");
  }
  return all.front();
}

bool is_packed(const Target& target) {
  if (!PackedFolder::is_packed_folder(target.path)) return false;
  if (!target.split.empty() || !target.where.empty() || !target.indices.empty()) {
    throw error_at(target.path, ErrorCode::invalid_argument,
                   "is a packed folder, of which --split, --where and --indices cannot choose");
  }
  return true;
}

std::vector<std::filesystem::path> input_files(const Dataset& dataset, const Target& target) {
  std::vector<std::filesystem::path> files = {dataset.path() / "manifest.json",
                                              dataset.path() / "meta.pkl"};
  if (!target.indices.empty()) files.emplace_back(target.indices);
  for (int64_t i = 0; i < dataset.num_shards(); ++i) files.push_back(dataset.shard(i).path());
  return files;
}

std::string class_of(const Manifest& manifest, int64_t label) {
  return element(manifest.classes, label);
}

std::string class_name_of(const Manifest& manifest, int64_t label) {
  return element(manifest.class_names, label);
}

std::optional<int64_t> label_of(const Schema& schema, const RecordView& record) {
  const auto field = find_label_field(schema);
  if (!field || record.is_null(*field)) return std::nullopt;
  return visit_dtype(schema.fields[*field].dtype, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(record.scalar<T>(*field));
    return 0;  // not reached: the field is an integer
  });
}

}  // namespace ffkit
