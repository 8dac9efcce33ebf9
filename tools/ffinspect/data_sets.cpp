#include "data_sets.h"

#include <filesystem>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/error.h>

#include "fields.h"

namespace ffkit {
namespace {

std::string element(const std::vector<std::string>& list, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(list.size())) return "";
  return list[static_cast<size_t>(index)];
}

}  // namespace

std::vector<Dataset> open_splits(const Target& target) {
  const std::filesystem::path path = target.path;
  if (!target.split.empty()) return {Dataset::open(path, target.split)};
  if (std::filesystem::is_directory(path) && !std::filesystem::exists(path / "manifest.json")) {
    std::vector<Dataset> all;
    for (const std::string& name : list_splits(path)) all.push_back(Dataset::open(path, name));
    if (!all.empty()) return all;
  }
  return {Dataset::open(path)};  // says what is wrong when it is not a data set
}

Dataset open_one_split(const Target& target) {
  std::vector<Dataset> all = open_splits(target);
  if (all.size() > 1) {
    throw Error(ErrorCode::invalid_argument,
                "the data set has several splits; say which with --split", {.path = target.path});
  }
  return all.front();
}

std::string class_of(const Manifest& manifest, int64_t label) {
  return element(manifest.classes, label);
}

std::string class_name_of(const Manifest& manifest, int64_t label) {
  return element(manifest.class_names, label);
}

std::optional<size_t> find_label_field(const Schema& schema) {
  const int index = schema.index_of("label");
  if (index < 0) return std::nullopt;
  const Field& field = schema.fields[static_cast<size_t>(index)];
  if (field.type != FieldType::scalar || !is_integer(field.dtype)) return std::nullopt;
  return static_cast<size_t>(index);
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
