#include "archives/parallel_io.h"
#include "arrow/arrow_columns.h"
#include "arrow/picture_modes.h"
#include "arrow/row_batches.h"
#include "converter/input/cancel.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/file_group.h"
#include "files/shard_files.h"
#include "parquet/parquet_listing.h"
#include "parquet/partitions.h"
#include "rows/row_table.h"

namespace ffkit {
namespace {

class ParquetRows final : public RowTable {
 public:
  ParquetRows(const fs::path& path, const RowOptions& options)
      : path_(path), max_row_bytes_(options.max_sample_bytes), cancel_(options.cancel) {
    ShardListing listing = files_to_take(options.group, [&] { return list_parquet_files(path); });
    notes_ = std::move(listing.notes);
    const auto* const found = found_before<FoundParquet>(options.group);
    const bool is_settled = found != nullptr && !found->settled.empty();
    if (is_settled) arrow_.begin_with(found->columns);
    for (ShardSplit& split : listing.splits) add_split(split);
    append(notes_, arrow_.finish(path_));
    PartitionTexts partitions;
    if (found != nullptr) partitions = found->partitions;
    if (is_settled) {
      settle_as(*found, arrow_);
    } else {
      const std::vector<ArrowColumn> columns = arrow_.columns();
      find_pictures(options);
      settle_nested();
      if (!arrow_.columns().empty()) {
        keep_found(options.group, FoundParquet{partitions, columns, arrow_.columns()});
      }
    }
    for (const ArrowColumn& column : arrow_.columns()) {
      columns_.push_back(column.column);
      // No label or id is a list.
      is_taken_.push_back(column.place.depth == 0 || is_wanted(column.column.field.name, options));
    }
    std::vector<std::vector<fs::path>> files;
    for (const ParquetSplit& split : splits_) files.push_back(split.files);
    partitions_ = PartitionColumns(path_, files, columns_, options, partitions);
    append(notes_, partitions_.notes());
    append(columns_, partitions_.columns());
    const bool has_rows =
        std::ranges::any_of(infos_, [](const SourceSplit& split) { return split.num_samples > 0; });
    if (columns_.empty() && has_rows) {
      throw source_error(path_, ErrorCode::not_found,
                         "the file has no columns that ffkit can store as fields");
    }
  }

  const std::vector<RowColumn>& columns() const override { return columns_; }
  const std::vector<SourceSplit>& splits() const override { return infos_; }
  const std::vector<std::string>& notes() const override { return notes_; }

  std::map<std::string, std::string> facts(size_t split) const override {
    return facts_of_files("parquet", path_, splits_.at(split).files.size());
  }
  std::vector<fs::path> roots() const override { return root_if_folder(path_); }

  std::vector<SourceInput> inputs(size_t split) const override {
    const ParquetSplit& from = splits_.at(split);
    return inputs_of_files(path_, from.files, from.stamps);
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

  bool lacks(size_t split, size_t column) const override {
    if (column >= arrow_.columns().size()) return false;
    if (arrow_.lacks(split, column)) return true;
    // A split to test may have the column and nothing in it. Its first value ends the search.
    return !infos_[split].is_training && arrow_.columns()[column].place.depth == 0 &&
           has_nulls_alone(split, column);
  }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    const ParquetSplit& from = splits_.at(split);
    const ListedGroup& group = group_of(from, row);
    const int64_t in_group = row - group.first_row;
    const auto batch = batch_of(from, group, in_group);
    const int64_t in_batch = in_group - batch->first_row;
    const std::vector<ArrowColumn>& columns = arrow_.columns();
    std::vector<const ArrowPlace*> places(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      if (is_taken_[i]) places[i] = arrow_.place(split, group.file, i);
    }
    read_arrow_row(columns, places, *batch->array.get(), in_batch, values, buffers);
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& mode = columns[i].column.mode;
      if (mode.empty() || values[i].is_null) continue;
      in_column(columns[i].column.field.name, [&] {
        if (places[i]->depth == 0) values[i].bytes = in_mode(mode, values[i].bytes, buffers);
        for (auto& item : values[i].items) item = in_mode(mode, item, buffers);
      });
    }
    int64_t num_bytes = 0;
    for (const RowValue& value : values.first(columns.size())) num_bytes += value.num_bytes();
    partitions_.set(split, group.file, values.subspan(columns.size()));
    require_sample_size(num_bytes, max_row_bytes_);
  }

 private:
  template <typename T>
  static void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  std::shared_ptr<const RowBatch> batch_of(const ParquetSplit& split, const ListedGroup& group,
                                           int64_t in_group) const {
    const fs::path& path = split.files[group.file];
    return batches_.find(path, group.number, group.described, in_group,
                         [&] { return open_table_file(path); });
  }

  static const ListedGroup& group_of(const ParquetSplit& split, int64_t row) {
    const auto next = std::ranges::upper_bound(split.groups, row, {}, &ListedGroup::first_row);
    return *std::prev(next);
  }

  void add_split(ShardSplit& listed) {
    std::vector<std::optional<ParquetHead>> heads(listed.files.size());
    std::vector<std::optional<Error>> errors(listed.files.size());
    parallel_io(heads.size(), [&](size_t i) {
      try {
        throw_if_cancelled(cancel_);
        heads[i] = read_parquet_head(listed.files[i]);
      } catch (const Error& error) {
        errors[i] = error;
      }
    });
    SourceSplit info{.name = listed.name, .is_training = listed.is_training};
    ParquetSplit split;
    for (size_t i = 0; i < heads.size(); ++i) {
      if (errors[i]) throw Error(*errors[i]);
      const int64_t first_row = info.num_samples;
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
      if (info.num_samples > first_row) {
        arrow_.add_file(std::move(heads[i]->columns), listed.files[i], splits_.size(), i);
      }
      split.stamps.push_back(heads[i]->stamp);
    }
    split.files = std::move(listed.files);
    splits_.push_back(std::move(split));
    infos_.push_back(std::move(info));
  }

  // What bytes that nothing calls pictures are, as the first rows tell.
  void find_pictures(const RowOptions& options) {
    std::vector<size_t> lacking;
    for (size_t i = 0; i < arrow_.columns().size(); ++i) {
      ArrowColumn& column = arrow_.columns()[i];
      if (!column.may_be_picture && !column.is_of_file) continue;
      for (size_t split = 0; split < splits_.size(); ++split) {
        const auto has_values = [&](const ListedGroup& group) {
          const ArrowPlace* const place = arrow_.place(split, group.file, i);
          return place != nullptr && place->leaf != ArrowLeaf::nothing;
        };
        const auto found = std::ranges::find_if(splits_[split].groups, has_values);
        if (found == splits_[split].groups.end()) continue;
        const ListedGroup& group = *found;
        const fs::path& path = splits_[split].files[group.file];
        const auto batch = in_file(path, [&] { return batch_of(splits_[split], group, 0); });
        const ArrowPlace* const place = arrow_.place(split, group.file, i);
        if (column.may_be_picture) ask_for_pictures(column, *place, *batch);
        if (column.is_of_file && holds_paths_alone(i, split, group.file, *batch)) {
          if (is_wanted(column.column.field.name, options)) throw paths_alone(i, split, *batch);
          lacking.push_back(i);
        }
        break;
      }
    }
    for (size_t i = lacking.size(); i-- > 0;) arrow_.erase(lacking[i]);
  }

  static bool is_wanted(const std::string& name, const RowOptions& options) {
    return options.columns.empty() || options.image_column == name ||
           std::ranges::find(options.columns, name) != options.columns.end();
  }

  // The first value of a column in a batch; nothing where there is none.
  std::optional<std::string> first_value(size_t column, const ArrowPlace& place,
                                         const RowBatch& batch) const {
    SampleBuffers buffers;
    for (int64_t row = 0; row < batch.array->length; ++row) {
      RowValue value;
      read_arrow_value(arrow_.columns()[column], place, *batch.array.get(), row, value, buffers);
      if (value.is_null) continue;
      return std::string(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
    }
    return std::nullopt;
  }

  // The path beside the bytes of a file.
  std::optional<size_t> path_beside(size_t column) const {
    const std::string name = arrow_.columns()[column].column.field.name + "/path";
    for (size_t i = 0; i < arrow_.columns().size(); ++i) {
      if (arrow_.columns()[i].column.field.name == name) return i;
    }
    return std::nullopt;
  }

  bool holds_paths_alone(size_t column, size_t split, size_t file, const RowBatch& batch) const {
    const ArrowPlace* const place = arrow_.place(split, file, column);
    const std::optional<size_t> beside = path_beside(column);
    if (place->depth > 0 || !beside) return false;
    const ArrowPlace* const path = arrow_.place(split, file, *beside);
    return path != nullptr && !first_value(column, *place, batch) &&
           first_value(*beside, *path, batch);
  }

  Error paths_alone(size_t column, size_t split, const RowBatch& batch) const {
    const size_t beside = *path_beside(column);
    const ListedGroup& group = splits_[split].groups.front();
    return source_error(
        splits_[split].files[group.file], ErrorCode::unsupported,
        "the column '{}' holds the paths of files ('{}') without their bytes; on a machine with "
        "these files, load it with Hugging Face's datasets.load_dataset(), and convert the result "
        "with ffkit.convert.from_torch() in Python",
        arrow_.columns()[column].column.field.name,
        first_value(beside, *arrow_.place(split, group.file, beside), batch).value_or(""));
  }

  static void ask_for_pictures(ArrowColumn& column, const ArrowPlace& place,
                               const RowBatch& batch) {
    int64_t num_values = 0;
    int64_t num_pictures = 0;
    SampleBuffers buffers;
    for (int64_t row = 0; row < batch.array->length; ++row) {
      buffers.clear();
      RowValue value;
      try {
        read_arrow_value(column, place, *batch.array.get(), row, value, buffers);
      } catch (const Error& error) {
        if (is_out_of_memory(error)) throw;
        continue;  // a bad sample
      }
      if (value.is_null) continue;
      if (place.leaf == ArrowLeaf::number) value.items = {value.tensor.data};
      if (place.depth == 0) value.items = {value.bytes};
      for (const std::span<const std::byte> item : value.items) {
        ++num_values;
        if (begins_as_picture(item)) ++num_pictures;
      }
    }
    if (num_pictures * 2 <= num_values) return;
    Field& field = column.column.field;
    if (place.leaf == ArrowLeaf::number) {
      field = {field.name, FieldType::image};
    } else {
      (field.type == FieldType::list ? field.item : field.type) = FieldType::image;
    }
  }

  // Whether a split has no value in the column, which is read alone.
  bool has_nulls_alone(size_t split, size_t column) const {
    for (const ListedGroup& group : splits_[split].groups) {
      const ArrowPlace* const place = arrow_.place(split, group.file, column);
      if (place == nullptr) continue;
      bool is_null = true;
      SampleBuffers buffers;
      in_file(splits_[split].files[group.file], [&] {
        read_columns(splits_[split].files[group.file], group, {*place},
                     [&](const ArrowArray& batch, const std::vector<ArrowPlace>& places) {
                       for (int64_t row = 0; is_null && row < batch.length; ++row) {
                         RowValue value;
                         buffers.clear();
                         read_arrow_value(arrow_.columns()[column], places[0], batch, row, value,
                                          buffers);
                         is_null = value.is_null;
                       }
                       return is_null;
                     });
      });
      if (!is_null) return false;
    }
    return true;
  }

  // Lists of lists of numbers are tensors where all rows are regular: these columns are read once.
  void settle_nested() {
    std::vector<size_t> asked;
    for (size_t i = 0; i < arrow_.columns().size(); ++i) {
      if (arrow_.columns()[i].is_nested()) asked.push_back(i);
    }
    if (asked.empty()) return;
    // The files are looked at side by side, and what they say is put together in their order.
    std::vector<std::pair<size_t, const ListedGroup*>> groups;
    for (size_t split = 0; split < splits_.size(); ++split) {
      for (const ListedGroup& group : splits_[split].groups) groups.emplace_back(split, &group);
    }
    std::vector<std::vector<NestedShapes>> found(groups.size());
    parallel_io_that_throws(groups.size(), [&](size_t i) {
      throw_if_cancelled(cancel_);
      const auto& [split, group] = groups[i];
      found[i] = nested_shapes(split, *group, asked);
    });
    std::vector<bool> is_regular(asked.size(), true);
    for (size_t group = 0; group < groups.size(); ++group) {
      for (size_t i = 0; i < asked.size(); ++i) {
        NestedShapes& shapes = found[group][i];
        if (!shapes.are_regular) is_regular[i] = false;
        if (!shapes.empty.empty()) {
          arrow_.columns()[asked[i]].empty_shape = std::move(shapes.empty);
        }
      }
    }
    for (size_t i = 0; i < asked.size(); ++i) {
      if (!is_regular[i]) continue;
      Field& field = arrow_.columns()[asked[i]].column.field;
      field = {field.name, FieldType::tensor, field.dtype};
    }
    // What is neither regular nor a list of rows of numbers.
    for (size_t i = asked.size(); i-- > 0;) {
      const ArrowColumn& column = arrow_.columns()[asked[i]];
      if (column.place.depth <= 2 || is_regular[i]) continue;
      add_note(notes_, shown_place(path_),
               "column '{}' was left out: its lists of lists of lists have different lengths",
               column.column.field.name);
      arrow_.erase(asked[i]);
    }
  }

  // Of a group's lists of lists: whether all are regular, and the shape of one without items.
  struct NestedShapes {
    bool are_regular = true;
    std::vector<int64_t> empty;
  };

  // As many as `asked`; as it is made of those that the file lacks.
  std::vector<NestedShapes> nested_shapes(size_t split, const ListedGroup& group,
                                          const std::vector<size_t>& asked) const {
    std::vector<NestedShapes> found(asked.size());
    std::vector<size_t> here;  // of `asked`
    std::vector<ArrowPlace> places;
    for (size_t i = 0; i < asked.size(); ++i) {
      const ArrowPlace* const place = arrow_.place(split, group.file, asked[i]);
      if (place == nullptr) continue;
      here.push_back(i);
      places.push_back(*place);
    }
    if (here.empty()) return found;
    const auto look = [&](const ArrowArray& batch, const std::vector<ArrowPlace>& read) {
      for (size_t i = 0; i < here.size(); ++i) {
        NestedShapes& shapes = found[here[i]];
        for (int64_t row = 0; row < batch.length; ++row) {
          try {
            const auto shape = nested_shape(read[i], batch, row);
            if (!shape) {
              shapes.are_regular = false;
            } else if (!shape->empty() && shape->front() > 0) {
              shapes.empty = *shape;
              shapes.empty.front() = 0;
            }
          } catch (const Error& error) {
            if (is_out_of_memory(error)) throw;  // others: a bad sample
          }
        }
      }
      return true;
    };
    const fs::path& path = splits_[split].files[group.file];
    in_file(path, [&] { read_columns(path, group, places, look); });
    return found;
  }

  // Reads the columns at `places` of a group alone. use(batch, places in the batch) returns whether
  // to go on.
  template <typename Use>
  static void read_columns(const fs::path& path, const ListedGroup& group,
                           std::vector<ArrowPlace> places, const Use& use) {
    const std::unique_ptr<ArrowFile> file = open_table_file(path);
    // The columns at the top that hold them.
    const ArrowOwner<ArrowSchema> schema = file->schema();
    std::vector<std::string> tops;  // in their order, which is that of the batches then
    // An Arrow table gives all of its columns.
    const bool is_parquet = file->format() == ArrowFormat::parquet;
    for (int64_t i = 0; is_parquet && i < schema->n_children; ++i) {
      if (std::ranges::any_of(places, [i](const ArrowPlace& place) {
            return place.steps.front().child == static_cast<size_t>(i);
          })) {
        tops.emplace_back(schema->children[i]->name);
      }
    }
    ArrowOwner<ArrowArrayStream> stream =
        file->read(group.number, tops, RowBatches::batch_rows(group.described));
    ArrowOwner<ArrowSchema> read;
    ArrowArrayStream& batches = *stream.get();
    if (batches.get_schema(&batches, read.get()) != 0) {
      throw unreadable_arrow(file->format(), batches.get_last_error(&batches));
    }
    for (ArrowPlace& place : places) {
      size_t& child = place.steps.front().child;
      const std::string top = schema->children[child]->name;
      for (int64_t i = 0; i < read->n_children; ++i) {
        if (top != read->children[i]->name) continue;
        child = static_cast<size_t>(i);
        break;
      }
    }
    while (const ArrowOwner<ArrowArray> batch = next_batch(file->format(), batches)) {
      if (!use(*batch.get(), places)) return;
    }
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
  ParquetColumns arrow_;
  PartitionColumns partitions_;
  std::vector<RowColumn> columns_;
  std::vector<bool> is_taken_;  // of the file's columns
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
