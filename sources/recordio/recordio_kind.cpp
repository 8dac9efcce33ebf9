// RecordIoRows: the records of .rec files as a table. What their columns are is settled over all
// records:
//
//   half or more are pictures behind a header   image, label or labels, id, id2
//   half or more are pictures                   image
//   else                                        data

#include <algorithm>
#include <array>
#include <cmath>

#include <ffkit/converter/source_kind.h>

#include "archives/parallel_io.h"
#include "base/make_error.h"
#include "converter/places/place.h"
#include "files/shard_files.h"
#include "recordio/recordio_file.h"
#include "rows/file_rows.h"
#include "rows/row_source.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

enum class RecordLayout : uint8_t { image_header, picture, bytes };

// Up to here f32 has every whole number.
constexpr float kMostLabels = 1 << 24;

bool is_class_label(float label) {
  return label >= -1 && label <= kMostLabels && label == std::floor(label);
}

class RecordIoRows final : public FileRows {
 public:
  RecordIoRows(const fs::path& path, const RowOptions& options)
      : FileRows("recordio", path, options), names_(names_ending_in(".rec")) {
    ShardListing listing = find_shards(path, names_);
    notes_ = std::move(listing.notes);
    std::vector<std::vector<std::vector<RecordIoEntry>>> scans;  // by split and file
    for (ShardSplit& split : listing.splits) {
      std::vector<fs::path>& files = listed_.emplace_back(split.files);
      const size_t number =
          add_split(split.name, split.is_training, FileGroup(std::move(split.files)));
      scans.push_back(scan_files(number, files));
    }
    choose_layout(scans);
    find_ids(scans);
    add_columns(scans);
    for (size_t split = 0; split < scans.size(); ++split) {
      for (const std::vector<RecordIoEntry>& file : scans[split]) add_entries(split, file);
    }
    note_counts();
  }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    FileRows::read(split, row, values, buffers);
    if (!ids_.empty()) {
      const std::string& id = ids_[split][static_cast<size_t>(row)];
      values[id_column_].set_bytes(std::as_bytes(std::span(id)));
    }
  }

 protected:
  void parse(std::span<const std::byte> row, std::span<RowValue> values,
             SampleBuffers& buffers) const override {
    const std::span<const std::byte> record = join_recordio_parts(row, buffers);
    if (layout_ != RecordLayout::image_header) return values[0].set_bytes(record);
    const std::optional<RecordIoImage> image = split_recordio_image(record);
    if (!image) {
      throw error_of(ErrorCode::corrupt,
                     "the record has {} bytes, too few for its header and labels", record.size());
    }
    values[0].set_bytes(image->data);
    set_label(*image, values[1], buffers);
    if (record_id_column_ > 0) values[record_id_column_].set_scalar(image->id);
    if (id2_column_ > 0) values[id2_column_].set_scalar(image->id2);
  }

 private:
  using Scans = std::vector<std::vector<std::vector<RecordIoEntry>>>;

  std::vector<std::vector<RecordIoEntry>> scan_files(size_t split,
                                                     const std::vector<fs::path>& files) const {
    // Of a store all bytes are read: a request for each record would take longer.
    const bool is_in_store = ffkit::Place(path()).is_in_store();
    const size_t block_bytes = is_in_store ? 4 << 20 : 4 << 10;
    std::vector<std::vector<RecordIoEntry>> scans(files.size());
    parallel_io_that_throws(files.size(), [&](size_t i) {
      const int64_t num_bytes = file_bytes(split, i);
      const auto read = [&](int64_t offset, std::span<std::byte> out) {
        read_file(split, i, offset, out);
        const int64_t next = offset + std::ssize(out);
        if (!is_in_store || next >= num_bytes) return;
        this->files(split).will_read(i, next,
                                     std::min<int64_t>(2 * std::ssize(out), num_bytes - next));
      };
      scans[i] = scan_recordio(this->files(split).paths()[i], num_bytes, read,
                               options().max_sample_bytes, block_bytes, options().cancel);
    });
    return scans;
  }

  template <typename Use>
  static void for_each(const Scans& scans, const Use& use) {
    for (const auto& split : scans) {
      for (const auto& file : split) {
        for (const RecordIoEntry& entry : file) use(entry);
      }
    }
  }

  void choose_layout(const Scans& scans) {
    for_each(scans,
             [&](const RecordIoEntry& entry) { ++counts_[static_cast<size_t>(entry.content)]; });
    const int64_t num_records = num(RecordIoContent::picture_with_header) +
                                num(RecordIoContent::picture) + num(RecordIoContent::other);
    if (num_records == 0) return;
    if (2 * num(RecordIoContent::picture_with_header) >= num_records) {
      layout_ = RecordLayout::image_header;
    } else if (2 * num(RecordIoContent::picture) >= num_records) {
      layout_ = RecordLayout::picture;
    }
  }

  int64_t num(RecordIoContent content) const { return counts_[static_cast<size_t>(content)]; }

  // Whether it is a row. Headers alone are those of face sets, which say where classes begin.
  bool is_row(const RecordIoEntry& entry) const {
    return layout_ != RecordLayout::image_header || entry.content != RecordIoContent::header_only;
  }

  // The file beside file `i` of a split that has another ending; nothing where there is none.
  std::optional<fs::path> beside(size_t split, size_t i, const char* ending) const {
    const fs::path& file = listed_[split][i];
    const std::string name = name_of_file(file);
    const std::string other = names_.stem(name).value_or(file.stem().string()) + ending;
    return other == name ? std::nullopt : file_beside(file, other);
  }

  // Ids, the best there are: names of .lst files, ids in headers that are all different, keys of
  // .idx files.
  void find_ids(const Scans& scans) {
    bool have_names = layout_ == RecordLayout::image_header;
    bool have_keys = true;
    std::vector<std::vector<std::string>> names(scans.size());
    std::vector<std::vector<std::string>> keys(scans.size());
    for (size_t split = 0; split < scans.size(); ++split) {
      for (size_t i = 0; i < scans[split].size(); ++i) {
        const std::vector<RecordIoEntry>& entries = scans[split][i];
        have_keys = add_keys(split, i, entries, keys[split]) && have_keys;
        have_names = have_names && add_names(split, i, entries, names[split]);
      }
    }
    if (have_names) return take_ids(std::move(names), "the names in .lst files");
    if (layout_ == RecordLayout::image_header && header_ids_differ(scans)) {
      header_ids_are_ids_ = true;
      return;
    }
    if (have_keys && std::ranges::all_of(keys, all_differ<std::string>)) {
      take_ids(std::move(keys), "the keys in .idx files");
    }
  }

  void take_ids(std::vector<std::vector<std::string>> ids, const char* what) {
    ids_ = std::move(ids);
    note("the ids are {}", what);
  }

  bool add_keys(size_t split, size_t i, std::span<const RecordIoEntry> entries,
                std::vector<std::string>& keys) const {
    const std::optional<fs::path> idx = beside(split, i, ".idx");
    if (!idx) return false;
    const std::vector<std::string> of_file = read_recordio_keys(*idx, entries);
    for (size_t entry = 0; entry < entries.size(); ++entry) {
      if (is_row(entries[entry])) keys.push_back(of_file[entry]);
    }
    return true;
  }

  bool add_names(size_t split, size_t i, std::span<const RecordIoEntry> entries,
                 std::vector<std::string>& names) {
    const std::optional<fs::path> lst = beside(split, i, ".lst");
    if (!lst) return false;
    std::vector<RecordIoEntry> rows;
    std::ranges::copy_if(entries, std::back_inserter(rows),
                         [&](const RecordIoEntry& entry) { return is_row(entry); });
    std::string why_not;
    const std::vector<std::string> of_file =
        names_of_records(read_picture_list(*lst), rows, why_not);
    if (!why_not.empty()) {
      add_note(notes_, shown_place(*lst), "its names are not used: it {}", why_not);
      return false;
    }
    names.insert(names.end(), of_file.begin(), of_file.end());
    return true;
  }

  template <typename Id>
  static bool all_differ(std::vector<Id> ids) {
    std::ranges::sort(ids);
    return std::ranges::adjacent_find(ids) == ids.end();
  }

  bool header_ids_differ(const Scans& scans) const {
    for (const auto& split : scans) {
      std::vector<uint64_t> ids;
      for (const auto& file : split) {
        for (const RecordIoEntry& entry : file) {
          if (entry.content == RecordIoContent::picture_with_header) ids.push_back(entry.id);
        }
      }
      if (!all_differ(std::move(ids))) return false;
    }
    return true;
  }

  void add_columns(const Scans& scans) {
    if (layout_ == RecordLayout::bytes) {
      columns_.push_back({.field = {"data", FieldType::bytes}});
    } else {
      columns_.push_back({.field = {"image", FieldType::image}});
    }
    if (layout_ == RecordLayout::image_header) add_header_columns(scans);
    if (ids_.empty()) return;
    id_column_ = columns_.size();
    columns_.push_back({.field = {"id", FieldType::string}});
  }

  void add_header_columns(const Scans& scans) {
    std::optional<float> no_class;  // a label that is none of a class
    bool has_record_id = header_ids_are_ids_;
    bool has_id2 = false;
    for_each(scans, [&](const RecordIoEntry& entry) {
      if (entry.content != RecordIoContent::picture_with_header) return;
      has_several_ = has_several_ || entry.flag > 1;
      if (!no_class && !is_class_label(entry.label)) no_class = entry.label;
      has_record_id = has_record_id || entry.id != 0;
      has_id2 = has_id2 || entry.id2 != 0;
    });
    if (has_several_) {
      columns_.push_back({.field = {"labels", FieldType::tensor, DType::f32}});
    } else if (no_class) {
      labels_are_reals_ = true;
      columns_.push_back({.field = {"label", FieldType::scalar, DType::f32}});
      note(
          "the labels are stored as f32, not as classes: one of them is {}, but a class is a whole "
          "number from 0, or -1 for no class",
          *no_class);
    } else {
      columns_.push_back({.field = {"label", FieldType::scalar, DType::i64}});
    }
    if (has_record_id) {
      record_id_column_ = columns_.size();
      const char* name = header_ids_are_ids_ ? "id" : "record_id";
      columns_.push_back({.field = {name, FieldType::scalar, DType::u64}});
    }
    if (has_id2) {
      id2_column_ = columns_.size();
      columns_.push_back({.field = {"id2", FieldType::scalar, DType::u64}});
    }
    std::string zeros;
    if (!has_record_id) zeros = "id";
    if (!has_id2) zeros += zeros.empty() ? "id2" : " and id2";
    if (zeros.empty()) return;
    note("{} in the headers of the records {} always 0 and left out", zeros,
         has_record_id || has_id2 ? "is" : "are");
  }

  void set_label(const RecordIoImage& image, RowValue& value, SampleBuffers& buffers) const {
    if (has_several_) {
      std::span<const std::byte> labels = image.labels;
      if (image.flag == 0) {
        const std::span<std::byte> one = buffers.bytes(sizeof(float));
        std::memcpy(one.data(), &image.label, sizeof(float));
        labels = one;
      }
      return value.set_tensor(
          {DType::f32, {static_cast<int64_t>(labels.size() / sizeof(float))}, labels});
    }
    if (image.flag > 1) {
      throw error_of(ErrorCode::corrupt,
                     "the record has {} labels, but the other records have one label", image.flag);
    }
    const float label = image.only_label();
    if (labels_are_reals_) return value.set_scalar(label);
    if (!is_class_label(label)) {
      throw error_of(
          ErrorCode::corrupt,
          "the record has the label {}, but a label must be a whole number of -1 or more", label);
    }
    value.set_scalar(static_cast<int64_t>(label));
  }

  void add_entries(size_t split, std::span<const RecordIoEntry> entries) {
    std::vector<FileRange> ranges;
    ranges.reserve(entries.size());
    for (const RecordIoEntry& entry : entries) {
      if (is_row(entry)) ranges.push_back(entry.range);
    }
    add_rows(split, ranges);
  }

  void note_counts() {
    const char* what = layout_ == RecordLayout::image_header ? "pictures with a header and a label"
                       : layout_ == RecordLayout::picture
                           ? "pictures without headers and labels"
                           : "bytes in an unknown form, which are stored as they are";
    note("the records are {}", what);
    note_count(num(RecordIoContent::damaged), "place is damaged and counts as a bad sample",
               "places are damaged and count as bad samples");
    if (layout_ == RecordLayout::bytes) return;
    const bool has_headers = layout_ == RecordLayout::image_header;
    const int64_t num_others =
        num(RecordIoContent::other) + (has_headers ? num(RecordIoContent::picture)
                                                   : num(RecordIoContent::picture_with_header) +
                                                         num(RecordIoContent::header_only));
    note_count(num_others, "record has another form and counts as a bad sample",
               "records have another form and count as bad samples");
    if (!has_headers) return;
    note_count(
        num(RecordIoContent::header_only),
        "record has only a header, which marks the start of a class in face data; it is left out",
        "records have only a header, which marks the start of a class in face data; they are left "
        "out");
  }

  void note_count(int64_t count, const char* one, const char* several) {
    if (count == 0) return;
    note("{} {}", count, count == 1 ? one : several);
  }

  const ShardNames names_;
  std::vector<std::vector<fs::path>> listed_;  // by split: files as they are opened
  RecordLayout layout_ = RecordLayout::bytes;
  std::array<int64_t, 5> counts_{};  // by RecordIoContent
  bool has_several_ = false;
  bool labels_are_reals_ = false;
  bool header_ids_are_ids_ = false;
  size_t record_id_column_ = 0;  // 0: there is none
  size_t id2_column_ = 0;
  size_t id_column_ = 0;
  std::vector<std::vector<std::string>> ids_;  // by split and row; empty: none of these
};

}  // namespace

std::unique_ptr<Source> open_recordio(const fs::path& path, const RowOptions& options) {
  return make_row_source(std::make_unique<RecordIoRows>(Place(path).path(), options), options);
}

SourceKind recordio_kind() {
  return {.name = "recordio",
          .description =
              "RecordIO of MXNet: a .rec file or a folder of .rec files, with their .idx and .lst "
              "files",
          .example = "/data/imagenet-rec /fast/imagenet",
          .options = make_source_options<KindOptions<RowOptions, open_recordio>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 56};
}

}  // namespace ffkit
