#include <fmt/ranges.h>
#include <simdjson.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstring>
#include <limits>
#include <set>

#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "converter/input/cancel.h"
#include "converter/input/input_file.h"
#include "converter/input/names.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/input/thread_limit.h"
#include "converter/places/place.h"
#include "files/shard_files.h"
#include "rows/file_rows.h"
#include "rows/row_source.h"
#include "rows/row_table.h"
#include "tfrecord/tfrecord_file.h"

namespace ffkit {
namespace {

// What a feature was in some rows.
struct SeenFeature {
  // Zeros are in arrays of numbers, and in no text.
  static bool is_text(std::span<const std::byte> value) {
    return std::memchr(value.data(), 0, value.size()) == nullptr &&
           simdjson::validate_utf8(reinterpret_cast<const char*>(value.data()), value.size());
  }

  TfKind kind = TfKind::none;  // in the first row that has it
  int64_t num_rows = 0;        // that have it, with a value at least
  int64_t num_other = 0;       // where it is of another kind
  size_t min_values = 0;
  size_t max_values = 0;
  int64_t least = std::numeric_limits<int64_t>::max();  // of integers, one a row
  int64_t num_values = 0;                               // of bytes
  int64_t num_pictures = 0;                             // among them
  int64_t num_texts = 0;

  void add(const TfFeature& feature) {
    if (feature.num_values == 0) return;
    if (num_rows == 0) kind = feature.kind;
    min_values = num_rows == 0 ? feature.num_values : std::min(min_values, feature.num_values);
    max_values = std::max(max_values, feature.num_values);
    ++num_rows;
    if (feature.kind != kind) ++num_other;
    if (feature.kind == TfKind::integers && feature.num_values == 1) {
      int64_t value = 0;
      feature.read_integers({&value, 1});
      least = std::min(least, value);
    }
    if (feature.kind != TfKind::bytes) return;
    for (const std::span<const std::byte> value : feature.pieces) {
      ++num_values;
      if (begins_as_picture(value)) {
        ++num_pictures;
      } else if (is_text(value)) {
        ++num_texts;
      }
    }
  }

  // Of rows behind these.
  void add(const SeenFeature& later) {
    if (later.num_rows == 0) return;
    if (num_rows == 0) {
      *this = later;
      return;
    }
    num_other += later.kind == kind ? later.num_other : later.num_rows - later.num_other;
    num_rows += later.num_rows;
    min_values = std::min(min_values, later.min_values);
    max_values = std::max(max_values, later.max_values);
    least = std::min(least, later.least);
    num_values += later.num_values;
    num_pictures += later.num_pictures;
    num_texts += later.num_texts;
  }
};
using SeenFeatures = std::map<std::string, SeenFeature, std::less<>>;

// Of one file.
struct ScannedFile {
  std::vector<FileRange> records;
  SeenFeatures seen;
  int64_t num_seen = 0;  // rows that were looked at
  std::optional<Error> row_error;
  std::string damage;  // of its last row
};

// "imagenet-train" for "imagenet-train.tfrecord-00000-of-01024" with its numbers, and for
// "imagenet-train.tfrecord.gz"; names that end in "-00000-of-01024" as they are.
std::optional<std::string> tfrecord_stem(std::string name) {
  for (const char* packed : {".gz", ".zst", ".bz2", ".xz"}) {
    if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
  }
  // Lists of where records are, which readers of other libraries want beside them.
  for (const char* index : {".idx", ".index"}) {
    if (name.ends_with(index)) return std::nullopt;
  }
  for (const std::string_view ending :
       {".tfrecords", ".tfrecord", ".tfrec", ".records", ".record"}) {
    const size_t found = name.rfind(ending);
    if (found == std::string::npos) continue;
    const std::string rest = name.substr(found + ending.size());
    if (rest.empty() || rest.front() == '-' || rest.front() == '.') {
      return name.substr(0, found) + rest;
    }
  }
  const size_t of = name.rfind("-of-");
  const auto are_digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (of == std::string::npos || !are_digits(std::string_view(name).substr(of + 4))) {
    return std::nullopt;
  }
  const size_t number = name.find_last_not_of("0123456789", of - 1);
  if (of == 0 || number == std::string::npos || name[number] != '-' || number + 1 == of) {
    return std::nullopt;
  }
  return name;
}

ShardListing find_tfrecords(const fs::path& path) {
  return find_shards(path, {.stem = tfrecord_stem,
                            .noun = "TFRecord files (*.tfrecord, *-00000-of-00010)",
                            .example = "train/*.tfrecord"});
}

// Of the first group of files.
struct FoundFeatures {
  std::vector<RowColumn> columns;
  std::vector<std::vector<int64_t>> shapes;
};

class TfRecordRows final : public FileRows {
 public:
  TfRecordRows(const fs::path& path, const RowOptions& options)
      : FileRows("tfrecord", path, options) {
    ShardListing listing = files_to_take(options.group, [&] { return find_tfrecords(path); });
    notes_ = std::move(listing.notes);
    std::vector<std::pair<size_t, size_t>> places;  // split and file
    for (ShardSplit& split : listing.splits) {
      const size_t number =
          add_split(split.name, split.is_training, FileGroup(std::move(split.files)));
      for (size_t file = 0; file < files(number).paths().size(); ++file) {
        places.emplace_back(number, file);
      }
    }
    std::vector<ScannedFile> scanned = scan_all(places, options.num_threads);
    SeenFeatures seen;
    int64_t num_seen = 0;
    std::optional<Error> row_error;
    for (size_t i = 0; i < scanned.size(); ++i) {
      const size_t split = places[i].first;
      add_rows(split, scanned[i].records);
      if (!scanned[i].damage.empty()) {
        const int64_t row = splits()[split].num_samples - 1;
        notes_.push_back(fmt::format("{} {}", describe(split, row), scanned[i].damage));
        damaged_[{split, row}] = std::move(scanned[i].damage);
      }
      seen_.resize(splits().size());
      for (const auto& [name, feature] : scanned[i].seen) {
        seen[name].add(feature);
        if (feature.num_rows > 0) seen_[split].insert(name);
      }
      num_seen += scanned[i].num_seen;
      if (!row_error) row_error = std::move(scanned[i].row_error);
    }
    if (const auto* const found = found_before<FoundFeatures>(options.group)) {
      take_columns(*found, seen, num_seen, options);
      return;
    }
    if (num_seen == 0 && row_error) throw Error(*row_error);
    make_columns(seen, num_seen);
    if (options.group == nullptr) compare_counts();
    keep_found(options.group, FoundFeatures{columns_, shapes_});
  }

  bool lacks(size_t split, size_t column) const override {
    return !seen_.at(split).contains(columns_.at(column).field.name);
  }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    const auto damaged = damaged_.find({split, row});
    if (damaged != damaged_.end()) throw Error(ErrorCode::corrupt, damaged->second);
    FileRows::read(split, row, values, buffers);
  }

 private:
  std::vector<ScannedFile> scan_all(const std::vector<std::pair<size_t, size_t>>& places,
                                    int num_threads) const {
    std::vector<ScannedFile> scanned(places.size());
    std::vector<std::optional<Error>> errors(places.size());
    tbb::task_arena arena(num_startable_threads(num_threads > 0 ? num_threads : usable_cores()));
    arena.execute([&] {
      tbb::parallel_for(size_t{0}, places.size(), [&](size_t i) {
        try {
          scanned[i] = scan(places[i].first, places[i].second);
        } catch (const Error& error) {
          errors[i] = error;
        }
      });
    });
    for (const std::optional<Error>& error : errors) {
      if (error) throw Error(*error);
    }
    return scanned;
  }

  ScannedFile scan(size_t split, size_t file) const {
    ScannedFile found;
    const fs::path& path = files(split).paths()[file];
    TfExample example;
    const auto read = [&](int64_t offset, std::span<std::byte> out) {
      throw_if_cancelled(options().cancel);
      will_read_file(split, file, offset + std::ssize(out), std::ssize(out));
      read_file(split, file, offset, out);
    };
    const auto look = [&](int64_t record, std::span<const std::byte> data_and_crc) {
      if (data_and_crc.empty()) return;
      try {
        example.parse(checked_tfrecord(data_and_crc));
      } catch (const Error& error) {
        // A bad sample: read() says so again.
        if (is_out_of_memory(error)) throw;
        if (!found.row_error) {
          found.row_error = error.within({.path = fmt::format("{}: {}", path.string(), record)});
        }
        return;
      }
      ++found.num_seen;
      for (const TfFeature& feature : example.features()) {
        auto seen = found.seen.find(feature.name);
        if (seen == found.seen.end())
          seen = found.seen.try_emplace(std::string(feature.name)).first;
        seen->second.add(feature);
      }
    };
    TfRecordPlaces places =
        scan_tfrecords(path, file_bytes(split, file), read, options().max_sample_bytes, look);
    found.records = std::move(places.records);
    found.damage = std::move(places.damage);
    return found;
  }

  void make_columns(const SeenFeatures& seen, int64_t num_seen) {
    const fs::path& first_file = files(0).paths().front();
    std::map<std::string, std::vector<int64_t>> shapes;
    if (const std::optional<fs::path> features = file_beside(first_file, "features.json")) {
      shapes = read_tfds_shapes(*features, read_source_text(*features));
    }
    for (const auto& [name, feature] : seen) {
      if (feature.num_rows == 0) {
        note("the feature '{}' has no value in any row; it was left out", printable(name));
        continue;
      }
      RowColumn column{.field = field_of(name, feature)};
      const auto shape = shapes.find(name);
      shapes_.emplace_back();
      if (shape != shapes.end() && feature.kind != TfKind::bytes) {
        column.field = {name, FieldType::tensor, column.field.dtype};
        shapes_.back() = shape->second;
      }
      if (column.field.type == FieldType::scalar && feature.kind == TfKind::integers) {
        column.class_names = find_tfds_classes(first_file, name);
        column.least = feature.least;
      }
      columns_.push_back(std::move(column));
      note_feature(name, feature, num_seen);
    }
    if (columns_.empty()) {
      if (num_seen == 0) {
        throw NoSamples(
            source_error(path(), ErrorCode::not_found, "the source contains no records"));
      }
      throw source_error(path(), ErrorCode::not_found, "the records have no features");
    }
  }

  // Of a group of files that is not the first.
  void take_columns(const FoundFeatures& found, const SeenFeatures& seen, int64_t num_seen,
                    const RowOptions& options) {
    columns_ = found.columns;
    shapes_ = found.shapes;
    for (const auto& [name, feature] : seen) {
      const bool is_known = std::ranges::any_of(
          columns_, [&own = name](const RowColumn& column) { return column.field.name == own; });
      if (is_known) {
        note_feature(name, feature, num_seen);
      } else if (feature.num_rows > 0 && options.columns.empty()) {
        throw source_error(files(0).paths().front(), ErrorCode::unsupported,
                           "{1} of {2} samples of this group of files have the feature '{0}', but "
                           "no sample of the first group has this feature; list the columns to "
                           "convert with {3}, or convert without {4}",
                           printable(name), feature.num_rows, num_seen, option_name("columns"),
                           option_name("by_files"));
      }
    }
  }

  // What TensorFlow Datasets counted when it wrote the files.
  void compare_counts() {
    const std::optional<fs::path> info = file_beside(files(0).paths().front(), "dataset_info.json");
    if (!info) return;
    for (const auto& [name, count] : read_tfds_counts(*info, read_source_text(*info))) {
      const std::string called = split_called(name);
      int64_t num_there = 0;
      for (const SourceSplit& split : splits()) {
        if (split.name == (called.empty() ? name : called)) num_there = split.num_samples;
      }
      if (num_there == count) continue;
      note("found {} records of split '{}', but dataset_info.json says {}", num_there, name, count);
    }
  }

  static bool is_single(const SeenFeature& feature) {
    return feature.min_values == 1 && feature.max_values == 1;
  }

  static Field field_of(const std::string& name, const SeenFeature& feature) {
    if (feature.kind != TfKind::bytes) {
      return {name, is_single(feature) ? FieldType::scalar : FieldType::tensor,
              feature.kind == TfKind::floats ? DType::f32 : DType::i64};
    }
    FieldType type = FieldType::bytes;
    if (feature.num_pictures * 2 > feature.num_values) {
      type = FieldType::image;
    } else if (feature.num_pictures + feature.num_texts == feature.num_values &&
               feature.num_pictures == 0) {
      type = FieldType::string;
    }
    if (is_single(feature)) return {name, type};
    return {name, FieldType::list, DType::u8, false, type};
  }

  void note_feature(const std::string& name, const SeenFeature& feature, int64_t num_seen) {
    if (feature.num_rows < num_seen) {
      note("the feature '{}' is {} in {} samples, which have no such feature or no value in it",
           printable(name), is_single(feature) ? "null" : "empty", num_seen - feature.num_rows);
    }
    if (feature.num_other > 0) {
      note("the feature '{}' has another type in {} samples than in the first; they count as bad",
           printable(name), feature.num_other);
    }
  }

  void parse(std::span<const std::byte> row, std::span<RowValue> values,
             SampleBuffers& buffers) const override {
    TfExample example;
    example.parse(checked_tfrecord(row));
    for (size_t i = 0; i < columns_.size(); ++i) {
      const TfFeature* feature = example.find(columns_[i].field.name);
      if (feature == nullptr || feature->num_values == 0) {
        set_nothing(values[i], columns_[i].field, shapes_[i]);
        continue;
      }
      const Field& field = columns_[i].field;
      in_column(field.name, [&] { set_value(values[i], field, shapes_[i], *feature, buffers); });
    }
  }

  // A feature without values: an empty list where others have several.
  static void set_nothing(RowValue& value, const Field& field, const std::vector<int64_t>& shape) {
    if (field.type == FieldType::list) value.is_null = false;
    const bool is_open = shape.empty() || std::ranges::find(shape, -1) != shape.end();
    if (field.type == FieldType::tensor && is_open) {
      value.set_tensor({field.dtype, shape_of(0, shape), {}});
    }
  }

  static TfKind kind_of(const Field& field) {
    if (field.type != FieldType::scalar && field.type != FieldType::tensor) return TfKind::bytes;
    return field.dtype == DType::f32 ? TfKind::floats : TfKind::integers;
  }

  static void set_value(RowValue& value, const Field& field, const std::vector<int64_t>& shape,
                        const TfFeature& feature, SampleBuffers& buffers) {
    if (feature.kind != kind_of(field)) {
      throw Error(ErrorCode::invalid_argument, "has another type than in the first sample");
    }
    const bool is_list = field.type == FieldType::list || field.type == FieldType::tensor;
    if (feature.num_values > 1 && !is_list) {
      throw error_of(ErrorCode::invalid_argument, "has {} values, but only one in the first files",
                     feature.num_values);
    }
    if (feature.kind == TfKind::bytes) {
      value.is_null = false;
      if (field.type == FieldType::list) {
        value.items = feature.pieces;
      } else {
        value.bytes = feature.pieces.front();
      }
      return;
    }
    std::span<const std::byte> numbers;
    if (feature.kind == TfKind::floats) {
      const std::span<float> floats = new_array<float>(buffers, feature.num_values);
      feature.read_floats(floats);
      if (field.type == FieldType::scalar) return value.set_scalar(floats.front());
      numbers = std::as_bytes(floats);
    } else {
      const std::span<int64_t> integers = new_array<int64_t>(buffers, feature.num_values);
      feature.read_integers(integers);
      if (field.type == FieldType::scalar) return value.set_scalar(integers.front());
      numbers = std::as_bytes(integers);
    }
    value.set_tensor({field.dtype, shape_of(feature.num_values, shape), numbers});
  }

  // `shape` with the length that differs, or one dimension.
  static std::vector<int64_t> shape_of(size_t num_values, std::vector<int64_t> shape) {
    const auto count = static_cast<int64_t>(num_values);
    if (shape.empty()) return {count};
    int64_t known = 1;
    for (const int64_t extent : shape) {
      if (extent == -1) continue;
      if (extent < 0 || __builtin_mul_overflow(known, extent, &known)) known = 0;
    }
    const bool is_open = std::ranges::find(shape, -1) != shape.end();
    if (known <= 0 || (is_open ? count % known != 0 : count != known)) {
      throw error_of(
          ErrorCode::invalid_argument,
          "the value has {} numbers, but these do not fit the shape ({}) in features.json", count,
          fmt::join(shape, ", "));
    }
    std::ranges::replace(shape, -1, count / known);
    return shape;
  }

  std::vector<std::vector<int64_t>> shapes_;  // of each column; empty: one dimension
  std::vector<std::set<std::string>> seen_;   // by split: features with a value in some row
  std::map<std::pair<size_t, int64_t>, std::string> damaged_;  // by split and row
};

}  // namespace

std::unique_ptr<Source> open_tfrecord(const fs::path& path, const RowOptions& options) {
  const PlacesListed listed;
  return make_row_source(std::make_unique<TfRecordRows>(Place(path).path(), options), options);
}

FileListing tfrecord_files(const fs::path& path, const RowOptions& /*options*/) {
  const PlacesListed listed;
  FileListing files = file_listing(find_tfrecords(Place(path).path()));
  if (file_beside(files.splits.front().files.front().path, "dataset_info.json")) {
    add_note(files.notes, shown_place(path),
             "the numbers of samples in dataset_info.json are not compared, because only one group "
             "of files is read at a time");
  }
  return files;
}

SourceKind tfrecord_kind() {
  return {.name = "tfrecord",
          .description =
              "TFRecord: files of tf.train.Example, from TensorFlow Datasets or other programs. "
              "The files may be compressed with gzip",
          .example = "/data/imagenet-tfrecord /fast/imagenet --label-offset -1",
          .options = make_source_options<KindOptions<RowOptions, open_tfrecord, tfrecord_files>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 31};
}

}  // namespace ffkit
