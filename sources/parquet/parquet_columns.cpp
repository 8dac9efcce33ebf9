#include <algorithm>

#include "arrow/picture_modes.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "parquet/parquet_listing.h"

namespace ffkit {
namespace {

bool is_pandas_index(const std::string& name) {
  return name.starts_with("__index_level_");
}

FieldType& value_type(Field& field) {
  return field.type == FieldType::list ? field.item : field.type;
}

const std::string& name_of_column(const ArrowColumn& column) {
  return column.column.field.name;
}

// Whether `mine` can be of both: bytes that one of the files calls pictures are some.
bool unite(Field& mine, Field other) {
  if (mine == other) return true;
  const auto is_either = [](FieldType type) {
    return type == FieldType::bytes || type == FieldType::image;
  };
  if (!is_either(value_type(mine)) || !is_either(value_type(other))) return false;
  value_type(mine) = FieldType::image;
  value_type(other) = FieldType::image;
  return mine == other;
}

}  // namespace

void ParquetColumns::begin_with(std::vector<ArrowColumn> columns) {
  columns_ = std::move(columns);
  first_files_.assign(columns_.size(), "the first files");
  num_files_.assign(columns_.size(), 0);
}

size_t ParquetColumns::match(ArrowColumn& column, const fs::path& path) {
  const std::string& name = column.column.field.name;
  const auto found = std::ranges::find(columns_, name, name_of_column);
  const auto number = static_cast<size_t>(found - columns_.begin());
  if (found == columns_.end()) {
    columns_.push_back(column);
    first_files_.push_back(path);
    num_files_.push_back(0);
    return number;
  }
  // Bytes behind a fixed length and others are alike; times of two units are not.
  const auto described = [](const ArrowColumn& one) {
    return fmt::format("{} ({} in the file)", describe(one.column.field), one.type);
  };
  const std::string before = described(*found);
  const bool is_number =
      column.place.leaf == ArrowLeaf::number || column.place.leaf == ArrowLeaf::boolean;
  if (!unite(found->column.field, column.column.field) ||
      (is_number && found->type != column.type)) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "has other columns than {}: {} here, but {} there; write all files again "
                       "with the same types",
                       shown_place(first_files_[number]), described(column), before);
  }
  found->may_be_picture = found->may_be_picture && column.may_be_picture;
  std::vector<std::string>& classes = found->column.class_names;
  const std::vector<std::string>& others = column.column.class_names;
  if (classes.empty()) classes = others;
  if (!others.empty() && classes != others) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "has other classes of '{}' than {} ('{}' here, but '{}' there), so its "
                       "labels have another meaning; convert it separately, or write it again with "
                       "the same classes",
                       name, shown_place(first_files_[number]), fmt::join(others, "', '"),
                       fmt::join(classes, "', '"));
  }
  return number;
}

void ParquetColumns::compare_with_split(const Layout& layout,
                                        const std::vector<ArrowLeftOut>& left_out, size_t split,
                                        const fs::path& path) {
  const First& first = firsts_[split];
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string& name = columns_[i].column.field.name;
    const bool has = i < layout.size() && layout[i].has_value();
    const bool had = i < first.has.size() && first.has[i];
    if (has == had || is_pandas_index(name)) continue;
    const std::vector<ArrowLeftOut>& of_other = has ? first.left_out : left_out;
    const auto other = std::ranges::find_if(of_other, [&name](const ArrowLeftOut& one) {
      return name == one.name || (one.is_null && name.starts_with(one.name + '/'));
    });
    if (other != of_other.end() && other->is_null) continue;
    if (other != of_other.end()) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "has other columns than {}: '{}' is of {} in one file and {} in the "
                         "other; write all files again with the same types",
                         shown_place(first.path), name, columns_[i].type, other->what);
    }
    throw source_error(path, ErrorCode::invalid_argument,
                       "has other columns than {}: {} '{}'; all files of a split must have the "
                       "same columns",
                       shown_place(first.path), has ? "only it has" : "it has no", name);
  }
}

void ParquetColumns::add_file(ArrowColumns columns, const fs::path& path, size_t split,
                              size_t file) {
  Layout layout;
  for (ArrowColumn& column : columns.columns) {
    const size_t number = match(column, path);
    if (layout.size() <= number) layout.resize(number + 1);
    if (layout[number]) {
      throw source_error(path, ErrorCode::unsupported,
                         "has two columns '{}'; give one of them another name",
                         column.column.field.name);
    }
    layout[number] = std::move(column.place);
    ++num_files_[number];
  }
  ++num_all_;
  bool has_null_lists = false;
  for (ArrowLeftOut column : columns.left_out) {
    if (column.place.depth > 0) {
      null_lists_.emplace_back(layouts_.size(), column);
      has_null_lists = true;
    }
    column.place = {};
    if (std::ranges::find(left_out_, column) == left_out_.end()) left_out_.push_back(column);
  }
  if (firsts_.size() <= split) firsts_.resize(split + 1);
  if (files_.size() <= split) files_.resize(split + 1);
  First& first = firsts_[split];
  if (first.path.empty()) {
    first.path = path;
    for (const auto& place : layout) first.has.push_back(place.has_value());
    first.left_out = std::move(columns.left_out);
  } else {
    compare_with_split(layout, columns.left_out, split, path);
  }
  auto known = has_null_lists ? layouts_.end() : std::ranges::find(layouts_, layout);
  if (known == layouts_.end()) known = layouts_.insert(known, std::move(layout));
  if (files_[split].size() <= file) files_[split].resize(file + 1, -1);
  files_[split][file] = known - layouts_.begin();
}

std::vector<std::string> ParquetColumns::finish(const fs::path& path) {
  std::vector<std::string> notes;
  const std::string where = shown_place(path);
  for (auto& [number, lists] : null_lists_) {
    const auto found = std::ranges::find(columns_, lists.name, name_of_column);
    if (found == columns_.end() || found->place.depth < lists.place.depth) continue;
    const auto at = static_cast<size_t>(found - columns_.begin());
    Layout& layout = layouts_[number];
    if (layout.size() <= at) layout.resize(at + 1);
    layout[at] = std::move(lists.place);
    ++num_files_[at];
  }
  for (const ArrowColumn& column : columns_) {
    const std::string note = note_of_mode(column.column.field.name, column.column.mode);
    if (!note.empty()) add_note(notes, where, "{}", note);
  }
  std::string others;
  for (const ArrowLeftOut& column : left_out_) {
    const auto is_called = [&](const ArrowColumn& one) {
      return one.column.field.name == column.name;
    };
    if (column.is_null && std::ranges::any_of(columns_, is_called)) continue;
    others += fmt::format("{}'{}' ({})", others.empty() ? "" : ", ", column.name, column.what);
  }
  if (!others.empty()) {
    add_note(notes, where, "columns were left out because no field can hold them: {}", others);
  }
  for (size_t i = 0; i < columns_.size();) {
    const std::string name = columns_[i].column.field.name;
    if (num_files_[i] == num_all_) {
      ++i;
    } else if (is_pandas_index(name)) {
      add_note(notes, where,
               "'{}', the row labels of pandas, is in {} of {} files, and is left out", name,
               num_files_[i], num_all_);
      erase(i);
    } else {
      add_note(notes, where,
               "column '{}' is in {} of {} files; the splits of the others have no values for it",
               name, num_files_[i], num_all_);
      ++i;
    }
  }
  return notes;
}

void ParquetColumns::erase(size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  columns_.erase(columns_.begin() + at);
  first_files_.erase(first_files_.begin() + at);
  num_files_.erase(num_files_.begin() + at);
  for (Layout& layout : layouts_) {
    if (column < layout.size()) layout.erase(layout.begin() + at);
  }
}

const ArrowPlace* ParquetColumns::place(size_t split, size_t file, size_t column) const {
  if (split >= files_.size() || file >= files_[split].size()) return nullptr;
  const std::ptrdiff_t number = files_[split][file];
  if (number < 0) return nullptr;
  const Layout& layout = layouts_[static_cast<size_t>(number)];
  return column < layout.size() && layout[column] ? &*layout[column] : nullptr;
}

bool ParquetColumns::lacks(size_t split, size_t column) const {
  if (split >= files_.size()) return true;
  for (size_t file = 0; file < files_[split].size(); ++file) {
    if (place(split, file, column) != nullptr) return false;
  }
  return true;
}

}  // namespace ffkit
