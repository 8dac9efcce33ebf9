#include "sources/parquet/parquet_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "format/errors_only.h"
#include "format/make_error.h"
#include "input/cancel.h"
#include "input/sample_size.h"
#include "input/source_error.h"
#include "places/brace_list.h"
#include "places/place.h"
#include "sources/archives/parallel_io.h"
#include "sources/arrow/arrow_columns.h"
#include "sources/arrow/row_batches.h"
#include "sources/files/file_group.h"
#include "sources/files/shard_files.h"
#include "sources/rows/row_contents.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// A row group, in the order of its split.
struct ListedGroup {
  RowGroup described;
  size_t file = 0;
  int64_t number = 0;         // in the file
  int64_t first_row = 0;      // in the split
  int64_t first_in_file = 0;  // the same, in the file
};

struct ParquetSplit {
  std::vector<fs::path> files;
  std::vector<FileStamp> stamps;
  std::vector<ListedGroup> groups;
};

// What the end of a file says.
struct ParquetHead {
  FileStamp stamp;
  ArrowColumns columns;
  std::vector<RowGroup> groups;
};

std::vector<Field> fields_of(const ArrowColumns& columns) {
  std::vector<Field> fields;
  fields.reserve(columns.columns.size());
  for (const ArrowColumn& column : columns.columns) fields.push_back(column.column.field);
  return fields;
}

class ParquetRows final : public RowTable {
 public:
  ParquetRows(const fs::path& path, const RowOptions& options)
      : path_(path), max_row_bytes_(options.max_sample_bytes), cancel_(options.cancel) {
    ShardListing listing = find_shards(path, {.stem = names_ending_in(".parquet").stem,
                                              .noun = "parquet files (*.parquet)",
                                              .example = "train/*.parquet"});
    notes_ = std::move(listing.notes);
    for (ShardSplit& split : listing.splits) add_split(split);
    if (!arrow_.left_out.empty()) {
      notes_.push_back(fmt::format("{}: columns that fields cannot hold were left out: {}",
                                   shown_place(path_), fmt::join(arrow_.left_out, ", ")));
    }
    find_pictures();
    settle_nested();
    for (const ArrowColumn& column : arrow_.columns) columns_.push_back(column.column);
    if (columns_.empty()) {
      throw source_error(path_, ErrorCode::not_found, "there are no columns that fields can hold");
    }
  }

  const std::vector<RowColumn>& columns() const override { return columns_; }
  const std::vector<SourceSplit>& splits() const override { return infos_; }
  const std::vector<std::string>& notes() const override { return notes_; }

  std::map<std::string, std::string> facts(size_t split) const override {
    return {{"kind", "parquet"},
            {"path", absolute_name(path_)},
            {"files", std::to_string(splits_.at(split).files.size())}};
  }
  std::vector<fs::path> roots() const override { return root_if_folder(path_); }

  std::vector<SourceInput> inputs(size_t split) const override {
    const ParquetSplit& from = splits_.at(split);
    std::vector<SourceInput> inputs;
    inputs.reserve(from.files.size());
    for (size_t i = 0; i < from.files.size(); ++i) {
      inputs.push_back({.name = name_below(path_, from.files[i]),
                        .num_bytes = from.stamps[i].num_bytes,
                        .modified_ns = from.stamps[i].modified_ns});
    }
    return inputs;
  }

  // On average, without compression.
  int64_t row_bytes(size_t split, int64_t row) const override {
    const RowGroup& group = group_of(splits_.at(split), row).described;
    return std::max<int64_t>(1, group.num_bytes / group.num_rows);
  }

  std::string name(size_t split, int64_t row) const override {
    const ParquetSplit& from = splits_.at(split);
    const ListedGroup& group = group_of(from, row);
    return name_of_row(name_below(path_, from.files[group.file]),
                       group.first_in_file + row - group.first_row);
  }

  std::string describe(size_t split, int64_t row) const override {
    const ParquetSplit& from = splits_.at(split);
    const ListedGroup& group = group_of(from, row);
    return name_of_row(shown_place(from.files[group.file]),
                       group.first_in_file + row - group.first_row);
  }

  void will_read(size_t, int64_t) const override {}
  bool reads_in_order() const override { return true; }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    const ParquetSplit& from = splits_.at(split);
    const ListedGroup& group = group_of(from, row);
    const int64_t in_group = row - group.first_row;
    const auto batch = batch_of(from, group, in_group);
    const int64_t in_batch = in_group - batch->first_row;
    int64_t num_bytes = 0;
    for (size_t i = 0; i < arrow_.columns.size(); ++i) {
      try {
        read_arrow_value(arrow_.columns[i], *batch->array.get(), in_batch, values[i], buffers);
      } catch (const Error& error) {
        if (is_out_of_memory(error)) throw;
        throw error.with_message(
            fmt::format("column '{}': {}", columns_[i].field.name, error.message()));
      }
      num_bytes += values[i].num_bytes();
    }
    require_sample_size(num_bytes, max_row_bytes_);
  }

 private:
  std::shared_ptr<const RowBatch> batch_of(const ParquetSplit& split, const ListedGroup& group,
                                           int64_t in_group) const {
    const fs::path& path = split.files[group.file];
    return batches_.find(path, group.number, group.described, in_group,
                         [&] { return open_parquet_file(path); });
  }

  static const ListedGroup& group_of(const ParquetSplit& split, int64_t row) {
    const auto next = std::ranges::upper_bound(split.groups, row, {}, &ListedGroup::first_row);
    return *std::prev(next);
  }

  static ParquetHead head_of(const fs::path& path) {
    try {
      std::error_code error;
      ParquetHead head{.stamp = stamp_of(path, error)};
      const std::unique_ptr<ArrowFile> file = open_parquet_file(path);
      const ArrowOwner<ArrowSchema> schema = file->schema();
      head.columns = arrow_columns(*schema.get());
      head.groups = file->groups();
      return head;
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw error.within({.path = shown_place(path), .subject = ErrorSubject::source});
    }
  }

  void add_split(ShardSplit& listed) {
    std::vector<std::optional<ParquetHead>> heads(listed.files.size());
    std::vector<std::optional<Error>> errors(listed.files.size());
    parallel_io(heads.size(), [&](size_t i) {
      try {
        throw_if_cancelled(cancel_);
        heads[i] = head_of(listed.files[i]);
      } catch (const Error& error) {
        errors[i] = error;
      }
    });
    SourceSplit info{.name = listed.name, .is_training = listed.is_training};
    ParquetSplit split;
    for (size_t i = 0; i < heads.size(); ++i) {
      if (errors[i]) throw Error(*errors[i]);
      take_columns(*heads[i], listed.files[i]);
      int64_t in_file = 0;
      for (size_t group = 0; group < heads[i]->groups.size(); ++group) {
        const RowGroup& described = heads[i]->groups[group];
        if (described.num_rows <= 0) continue;
        split.groups.push_back(
            {described, i, static_cast<int64_t>(group), info.num_samples, in_file});
        in_file += described.num_rows;
        info.num_samples += described.num_rows;
        info.num_bytes += described.num_bytes;
      }
      split.stamps.push_back(heads[i]->stamp);
    }
    split.files = std::move(listed.files);
    splits_.push_back(std::move(split));
    infos_.push_back(std::move(info));
  }

  void take_columns(ParquetHead& head, const fs::path& path) {
    if (first_file_.empty()) {
      first_file_ = path;
      arrow_ = std::move(head.columns);
      return;
    }
    const Schema mine{fields_of(arrow_)};
    const Schema other{fields_of(head.columns)};
    const std::string difference = other.difference(mine);
    if (difference.empty()) return;
    throw source_error(path, ErrorCode::invalid_argument,
                       "has other columns than {}: {}; all files must have the same ones",
                       shown_place(first_file_), difference);
  }

  // Bytes that nothing calls pictures are some where most of the first rows begin as one.
  void find_pictures() {
    std::vector<ArrowColumn*> asked;
    for (ArrowColumn& column : arrow_.columns) {
      if (column.may_be_picture) asked.push_back(&column);
    }
    if (asked.empty()) return;
    for (const ParquetSplit& split : splits_) {
      if (split.groups.empty()) continue;
      const ListedGroup& group = split.groups.front();
      const auto batch =
          in_file(split.files[group.file], [&] { return batch_of(split, group, 0); });
      for (ArrowColumn* column : asked) ask_for_pictures(*column, *batch);
      return;
    }
  }

  static void ask_for_pictures(ArrowColumn& column, const RowBatch& batch) {
    int64_t num_values = 0;
    int64_t num_pictures = 0;
    SampleBuffers buffers;
    for (int64_t row = 0; row < batch.array->length; ++row) {
      buffers.clear();
      RowValue value;
      try {
        read_arrow_value(column, *batch.array.get(), row, value, buffers);
      } catch (const Error& error) {
        if (is_out_of_memory(error)) throw;
        continue;  // a bad sample
      }
      if (value.is_null) continue;
      if (column.depth == 0) value.items = {value.bytes};
      for (const std::span<const std::byte> item : value.items) {
        ++num_values;
        if (begins_as_picture(item)) ++num_pictures;
      }
    }
    if (num_pictures * 2 <= num_values) return;
    Field& field = column.column.field;
    (field.type == FieldType::list ? field.item : field.type) = FieldType::image;
  }

  // Lists of lists of numbers are tensors where all rows are regular: these columns are read once.
  void settle_nested() {
    std::vector<ArrowColumn*> asked;
    std::vector<std::string> names;
    for (ArrowColumn& column : arrow_.columns) {
      if (!column.is_nested()) continue;
      asked.push_back(&column);
      const std::string& name = column.column.field.name;
      names.push_back(name);
    }
    if (asked.empty()) return;
    // The files are looked at side by side, and what they say is put together in their order.
    std::vector<std::pair<const fs::path*, const ListedGroup*>> groups;
    for (const ParquetSplit& split : splits_) {
      for (const ListedGroup& group : split.groups) {
        groups.emplace_back(&split.files[group.file], &group);
      }
    }
    std::vector<std::vector<NestedShapes>> found(groups.size());
    std::vector<std::exception_ptr> errors(groups.size());
    parallel_io(groups.size(), [&](size_t i) {
      try {
        throw_if_cancelled(cancel_);
        const fs::path& path = *groups[i].first;
        const ListedGroup& group = *groups[i].second;
        found[i] = in_file(path, [&] { return nested_shapes(path, group, asked); });
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
    std::vector<bool> is_regular(asked.size(), true);
    for (size_t group = 0; group < groups.size(); ++group) {
      if (errors[group]) std::rethrow_exception(errors[group]);
      for (size_t i = 0; i < asked.size(); ++i) {
        NestedShapes& shapes = found[group][i];
        if (!shapes.are_regular) is_regular[i] = false;
        if (!shapes.empty.empty()) asked[i]->empty_shape = std::move(shapes.empty);
      }
    }
    for (size_t i = 0; i < asked.size(); ++i) {
      if (!is_regular[i]) continue;
      Field& field = asked[i]->column.field;
      field = {field.name, FieldType::tensor, field.dtype};
    }
    // What is neither regular nor a list of rows of numbers.
    std::erase_if(arrow_.columns, [&](const ArrowColumn& column) {
      if (column.depth <= 2 || column.column.field.type == FieldType::tensor) return false;
      notes_.push_back(
          fmt::format("{}: column '{}' was left out: its lists of lists of lists are "
                      "of different lengths",
                      shown_place(path_), column.column.field.name));
      return true;
    });
  }

  // Of a group's lists of lists: whether all are regular, and the shape of one without items.
  struct NestedShapes {
    bool are_regular = true;
    std::vector<int64_t> empty;
  };

  static std::vector<NestedShapes> nested_shapes(const fs::path& path, const ListedGroup& group,
                                                 const std::vector<ArrowColumn*>& asked) {
    const std::unique_ptr<ArrowFile> file = open_parquet_file(path);
    // The columns at the top that hold them.
    const ArrowOwner<ArrowSchema> schema = file->schema();
    std::vector<std::string> tops;  // in their order, which is that of the batches then
    for (int64_t i = 0; i < schema->n_children; ++i) {
      if (std::ranges::any_of(asked, [i](const ArrowColumn* column) {
            return column->steps.front().child == static_cast<size_t>(i);
          })) {
        tops.emplace_back(schema->children[i]->name);
      }
    }
    ArrowOwner<ArrowArrayStream> stream =
        file->read(group.number, tops, RowBatches::batch_rows(group.described));
    ArrowOwner<ArrowSchema> read;
    ArrowArrayStream& batches = *stream.get();
    if (batches.get_schema(&batches, read.get()) != 0) {
      throw unreadable_arrow(ArrowFormat::parquet, batches.get_last_error(&batches));
    }
    std::vector<ArrowColumn> columns;
    for (const ArrowColumn* column : asked) {
      columns.push_back(*column);
      const std::string top = schema->children[column->steps.front().child]->name;
      for (int64_t i = 0; i < read->n_children; ++i) {
        if (top == read->children[i]->name) {
          columns.back().steps.front().child = static_cast<size_t>(i);
        }
      }
    }
    std::vector<NestedShapes> found(asked.size());
    while (const ArrowOwner<ArrowArray> batch = next_batch(ArrowFormat::parquet, batches)) {
      for (size_t i = 0; i < columns.size(); ++i) {
        for (int64_t row = 0; row < batch->length; ++row) {
          try {
            const auto shape = nested_shape(columns[i], *batch.get(), row);
            if (!shape) {
              found[i].are_regular = false;
            } else if (!shape->empty() && shape->front() > 0) {
              found[i].empty = *shape;
              found[i].empty.front() = 0;
            }
          } catch (const Error& error) {
            if (is_out_of_memory(error)) throw;  // others: a bad sample
          }
        }
      }
    }
    return found;
  }

  template <typename Work>
  static auto in_file(const fs::path& path, const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const Error& error) {
      if (!error.context().path.empty() || error.code() == ErrorCode::cancelled) throw;
      throw error.within({.path = shown_place(path), .subject = ErrorSubject::source});
    }
  }

  const fs::path path_;
  const int64_t max_row_bytes_;
  const std::atomic<bool>* const cancel_;
  fs::path first_file_;
  ArrowColumns arrow_;
  std::vector<RowColumn> columns_;
  std::vector<ParquetSplit> splits_;
  std::vector<SourceSplit> infos_;
  std::vector<std::string> notes_;
  mutable RowBatches batches_;
};

}  // namespace

std::unique_ptr<RowTable> list_parquet_rows(const fs::path& path, const RowOptions& options) {
  return std::make_unique<ParquetRows>(path, options);
}

}  // namespace ffkit
