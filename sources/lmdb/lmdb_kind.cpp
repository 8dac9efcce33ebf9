// LmdbRows: the values of LMDB files as a table. Half or more of them tell what all are, unless
// that is given: pictures, Datum messages of Caffe, or bytes.

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>

#include "archives/parallel_io.h"
#include "base/printable.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/file_window.h"
#include "lmdb/lmdb_file.h"
#include "lmdb/lmdb_values.h"
#include "rows/file_rows.h"
#include "rows/row_source.h"

namespace ffkit {
namespace {

bool is_datum(LmdbContent content) {
  return content == LmdbContent::datum_picture || content == LmdbContent::datum_bytes ||
         content == LmdbContent::datum_floats;
}

constexpr size_t kStoreBlockBytes = 4 << 20;

// A key as text: numbers, UTF-8, or the digits of its bytes.
std::string id_of_key(const std::string& key, bool is_integer) {
  if (is_integer && (key.size() == sizeof(uint32_t) || key.size() == sizeof(uint64_t))) {
    uint64_t number = 0;
    std::memcpy(&number, key.data(), key.size());
    return std::to_string(number);
  }
  if (is_utf8(key)) return key;
  std::string digits = "0x";
  for (const char byte : key) digits += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return digits;
}

class LmdbRows final : public FileRows {
 public:
  LmdbRows(const fs::path& path, const LmdbOptions& options)
      : FileRows("lmdb", path, options.rows),
        plane_order_(options.is_rgb ? PlaneOrder::rgb : PlaneOrder::bgr) {
    const std::vector<LmdbPlace> places = find_lmdb_files(path);
    std::map<std::string, std::vector<const LmdbPlace*>> splits;
    for (const LmdbPlace& place : places) splits[place.split].push_back(&place);
    LmdbRowsOfFiles rows;
    std::vector<std::vector<std::string>> categories;
    for (const bool is_training : {true, false}) {
      for (const auto& [name, of_split] : splits) {
        if ((name == "train") != is_training) continue;
        std::vector<fs::path> files;
        categories.emplace_back();
        for (const LmdbPlace* place : of_split) {
          files.push_back(place->file);
          categories.back().push_back(place->category);
        }
        const size_t num_files = files.size();
        const size_t split = add_split(name, is_training, FileGroup(std::move(files)));
        rows.push_back(list_files(split, num_files, options.database));
      }
    }
    if (options.value == LmdbValue::automatic || options.value == LmdbValue::picture) {
      members_ = find_lmdb_members(rows);
    }
    if (members_) {
      add_members(rows);
      return;
    }
    choose_content(rows, options.value);
    for (size_t split = 0; split < rows.size(); ++split) {
      ids_.emplace_back();
      for (std::vector<LmdbRow>& file : rows[split]) add_file(split, file);
    }
    add_columns(categories);
    if (!classes_.empty()) add_labels(rows, categories);
    note_left_out();
  }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    if (members_) {
      read_members(split, row, values, buffers);
    } else {
      FileRows::read(split, row, values, buffers);
    }
    if (!labels_.empty()) values[1].set_scalar(labels_[split][static_cast<size_t>(row)]);
    const std::string& id = ids_[split][static_cast<size_t>(row)];
    values.back().set_bytes(std::as_bytes(std::span(id)));
  }

 protected:
  void parse(std::span<const std::byte> row, std::span<RowValue> values,
             SampleBuffers& buffers) const override {
    if (!is_datum(content_)) return values[0].set_bytes(row);
    set_datum(row, content_, plane_order_, values[0], has_datum_label_ ? &values[1] : nullptr,
              buffers);
  }

 private:
  // Where the values of a row are that are no pictures.
  struct MemberPlaces {
    size_t file = 0;
    bool has_picture = false;
    std::vector<std::optional<FileRange>> others;
  };

  std::vector<std::vector<LmdbRow>> list_files(size_t split, size_t num_files,
                                               const std::string& database) {
    std::vector<std::vector<LmdbRow>> rows(num_files);
    std::vector<std::string> databases(num_files);
    parallel_io_that_throws(
        num_files, [&](size_t i) { rows[i] = list_file(split, i, database, databases[i]); });
    for (size_t i = 0; i < num_files; ++i) {
      if (databases[i].empty() || !database.empty()) continue;
      add_note(notes_, files(split).paths()[i].string(), "its only named database, '{}', is used",
               printable(databases[i]));
    }
    return rows;
  }

  std::vector<LmdbRow> list_file(size_t split, size_t i, const std::string& asked,
                                 std::string& database) const {
    const int64_t num_bytes = file_bytes(split, i);
    const ReadBytes read_here = [&](int64_t offset, std::span<std::byte> out) {
      read_file(split, i, offset, out);
    };
    // Of a store, where each read would be a request.
    FileWindow blocks(num_bytes, read_here, kStoreBlockBytes, kStoreBlockBytes);
    const ReadBytes read_blocks = [&](int64_t offset, std::span<std::byte> out) {
      const std::span<const std::byte> found = blocks.at(offset, out.size());
      std::copy(found.begin(), found.end(), out.begin());
    };
    const ReadBytes& read = ffkit::Place(path()).is_in_store() ? read_blocks : read_here;
    LmdbListing listing =
        list_lmdb(files(split).paths()[i], num_bytes, read, asked, options().cancel);
    database = std::move(listing.database);
    std::vector<LmdbRow> rows;
    rows.reserve(listing.entries.size());
    std::vector<std::byte> window;
    for (const LmdbEntry& entry : listing.entries) {
      const DatumBytes bytes = [&](int64_t offset, size_t count) {
        // Of a cut file, what is there; reading the value will say so.
        const int64_t left =
            std::min(entry.value.num_bytes - offset, num_bytes - entry.value.offset - offset);
        window.resize(
            static_cast<size_t>(std::clamp<int64_t>(left, 0, static_cast<int64_t>(count))));
        if (!window.empty()) read(entry.value.offset + offset, window);
        return std::span<const std::byte>(window);
      };
      rows.push_back({.id = id_of_key(entry.key, listing.has_integer_keys),
                      .value = entry.value,
                      .facts = facts_of_lmdb_value(entry.value.num_bytes, bytes)});
    }
    return rows;
  }

  void add_members(const LmdbRowsOfFiles& rows) {
    std::vector<bool> are_texts(members_->others.size(), true);
    int64_t num_alone = 0;
    int64_t num_lost = 0;
    for (size_t split = 0; split < rows.size(); ++split) {
      ids_.emplace_back();
      places_.emplace_back();
      for (size_t file = 0; file < rows[split].size(); ++file) {
        std::vector<FileRange> ranges;
        for (LmdbMemberRow& row : join_lmdb_members(rows[split][file], *members_)) {
          for (size_t i = 0; i < row.others.size(); ++i) {
            if (!row.others[i]) continue;
            are_texts[i] = are_texts[i] && is_text(split, file, *row.others[i]);
          }
          num_alone +=
              std::ranges::any_of(row.others, [](const auto& one) { return !one; }) ? 1 : 0;
          num_lost += row.picture ? 0 : 1;
          ranges.push_back(row.picture.value_or(FileRange{}));
          ids_[split].push_back(std::move(row.id));
          places_[split].push_back({file, row.picture.has_value(), std::move(row.others)});
        }
        compare_count(split, file, rows[split][file], std::ssize(ranges));
        add_rows(split, ranges);
      }
    }
    columns_.push_back({.field = {members_->picture, FieldType::image}});
    for (size_t i = 0; i < members_->others.size(); ++i) {
      columns_.push_back(
          {.field = {members_->others[i], are_texts[i] ? FieldType::string : FieldType::bytes}});
    }
    columns_.push_back({.field = {"id", FieldType::string}});
    note("entries with the same number are one sample, with the fields '{}' (picture) and '{}'",
         members_->picture, fmt::join(members_->others, "', '"));
    if (num_alone > 0) {
      note("{} sample{} not have all of '{}'; the missing ones are null", num_alone,
           num_alone == 1 ? " does" : "s do", fmt::join(members_->others, "', '"));
    }
    if (num_lost > 0) {
      note("{} sample{} no picture, so {} bad", num_lost, num_lost == 1 ? " has" : "s have",
           num_lost == 1 ? "it is" : "they are");
    }
  }

  // Of values as long as a text of a picture may be.
  bool is_text(size_t split, size_t file, const FileRange& value) const {
    constexpr int64_t kMostBytes = 1 << 20;
    if (value.num_bytes > kMostBytes || value.offset > file_bytes(split, file) - value.num_bytes) {
      return false;
    }
    return is_utf8(text_at(split, file, value));
  }

  std::string text_at(size_t split, size_t file, const FileRange& value) const {
    std::string text(static_cast<size_t>(value.num_bytes), '\0');
    read_file(split, file, value.offset, std::as_writable_bytes(std::span(text)));
    return text;
  }

  // With the number that the file says it has.
  void compare_count(size_t split, size_t file, const std::vector<LmdbRow>& rows,
                     int64_t num_there) {
    for (const LmdbRow& row : rows) {
      if (!is_bookkeeping(row.id) || !is_text(split, file, row.value)) continue;
      const std::string text = text_at(split, file, row.value);
      if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) continue;
      if (text == std::to_string(num_there)) continue;
      add_note(notes_, files(split).paths()[file].string(),
               "'{}' says {}, but there are {} samples", printable(row.id), text, num_there);
    }
  }

  void read_members(size_t split, int64_t row, std::span<RowValue> values,
                    SampleBuffers& buffers) const {
    const MemberPlaces& places = places_[split][static_cast<size_t>(row)];
    if (places.has_picture) values[0].set_bytes(row_data(split, row, buffers));
    for (size_t i = 0; i < places.others.size(); ++i) {
      if (!places.others[i]) continue;
      const FileRange& value = *places.others[i];
      if (value.num_bytes > options().max_sample_bytes) {
        throw error_of(ErrorCode::unsupported,
                       "the value of the column '{}' has {} bytes, more than the limit of {} bytes "
                       "for a sample; raise the limit with {}",
                       members_->others[i], value.num_bytes, options().max_sample_bytes,
                       option_name("max_sample_bytes"));
      }
      const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(value.num_bytes));
      read_file(split, places.file, value.offset, bytes);
      values[i + 1].set_bytes(bytes);
    }
  }

  // Settles what the values are, by how many of them are it.
  void choose_content(const LmdbRowsOfFiles& rows, LmdbValue given) {
    std::array<int64_t, 6> counts{};
    std::string pickled;
    for (const auto& split : rows) {
      for (const auto& file : split) {
        for (const LmdbRow& row : file) {
          if (row.facts.content == LmdbContent::pickle && pickled.empty()) pickled = row.id;
          if (is_other_bookkeeping(row)) continue;
          ++counts[static_cast<size_t>(row.facts.content)];
          has_datum_label_ = has_datum_label_ || row.facts.has_label;
          num_raw_ += row.facts.is_raw && row.facts.content == LmdbContent::datum_picture ? 1 : 0;
        }
      }
    }
    const auto num = [&](LmdbContent content) { return counts[static_cast<size_t>(content)]; };
    int64_t num_all = 0;
    for (const int64_t count : counts) num_all += count;
    const int64_t num_datum = num(LmdbContent::datum_picture) + num(LmdbContent::datum_bytes) +
                              num(LmdbContent::datum_floats);
    if (given == LmdbValue::automatic) {
      if (num(LmdbContent::pickle) > 0 && 2 * num(LmdbContent::pickle) >= num_all) {
        throw source_error(path(), ErrorCode::unsupported,
                           "{} of {} values are pickles (key '{}'), and pickles can run code when "
                           "a program reads them; read the values in Python and write them with "
                           "ffkit.Writer, or store their bytes with {}",
                           num(LmdbContent::pickle), num_all, printable(pickled),
                           option_set("value", "bytes"));
      }
      given = 2 * num(LmdbContent::picture) >= num_all ? LmdbValue::picture
              : 2 * num_datum >= num_all               ? LmdbValue::datum
                                                       : LmdbValue::bytes;
      is_guessed_bytes_ = given == LmdbValue::bytes;
    }
    value_ = given;
    if (given == LmdbValue::picture) content_ = LmdbContent::picture;
    if (given != LmdbValue::datum) {
      has_datum_label_ = false;
      num_raw_ = 0;
      return;
    }
    content_ = LmdbContent::datum_picture;
    for (const LmdbContent other : {LmdbContent::datum_bytes, LmdbContent::datum_floats}) {
      if (num(other) > num(content_)) content_ = other;
    }
  }

  static bool is_other_bookkeeping(const LmdbRow& row) {
    return is_bookkeeping(row.id) && row.facts.content != LmdbContent::picture &&
           !is_datum(row.facts.content);
  }

  void add_file(size_t split, std::vector<LmdbRow>& rows) {
    // Bytes and texts are taken whatever they are.
    const bool takes_all = value_ == LmdbValue::bytes || value_ == LmdbValue::text;
    const auto is_left_out = [&](const LmdbRow& row) {
      if (takes_all || !is_other_bookkeeping(row)) return false;
      left_out_.insert(row.id);
      return true;
    };
    std::erase_if(rows, is_left_out);
    std::vector<FileRange> ranges;
    ranges.reserve(rows.size());
    for (LmdbRow& row : rows) {
      ranges.push_back(row.value);
      if (!takes_all && row.facts.content != content_) {
        constexpr size_t kNamed = 3;
        ++num_others_;
        if (others_.size() < kNamed) others_.push_back(printable(row.id));
      }
      ids_[split].push_back(std::move(row.id));
    }
    add_rows(split, ranges);
  }

  void add_columns(const std::vector<std::vector<std::string>>& categories) {
    const bool is_picture =
        content_ == LmdbContent::picture || content_ == LmdbContent::datum_picture;
    if (value_ == LmdbValue::text) {
      columns_.push_back({.field = {"text", FieldType::string}});
    } else if (is_picture) {
      columns_.push_back({.field = {"image", FieldType::image}});
    } else if (is_datum(content_)) {
      const bool is_floats = content_ == LmdbContent::datum_floats;
      columns_.push_back(
          {.field = {"data", FieldType::tensor, is_floats ? DType::f32 : DType::u8}});
    } else {
      columns_.push_back({.field = {"data", FieldType::bytes}});
    }
    if (has_datum_label_) {
      columns_.push_back({.field = {"label", FieldType::scalar, DType::i64}});
    } else if (content_ == LmdbContent::picture) {
      find_classes(categories);
    }
    columns_.push_back({.field = {"id", FieldType::string}});
  }

  // Those of LSUN, where every file is called so, but for the pictures to test.
  void find_classes(const std::vector<std::vector<std::string>>& categories) {
    std::set<std::string> names;
    bool has_unlabelled = false;
    for (size_t split = 0; split < categories.size(); ++split) {
      for (const std::string& category : categories[split]) {
        if (!category.empty()) {
          names.insert(category);
        } else if (splits()[split].name == "test") {
          has_unlabelled = true;
        } else {
          return;
        }
      }
    }
    if (names.empty()) return;
    classes_.assign(names.begin(), names.end());
    columns_.push_back(
        {.field = {"label", FieldType::scalar, DType::i64}, .class_names = classes_});
    note("the classes are in the names of the folders, as in LSUN: {}{}", fmt::join(classes_, ", "),
         has_unlabelled ? "; other pictures in 'test' have the label -1" : "");
  }

  void add_labels(const LmdbRowsOfFiles& rows,
                  const std::vector<std::vector<std::string>>& categories) {
    for (size_t split = 0; split < rows.size(); ++split) {
      labels_.emplace_back();
      for (size_t file = 0; file < rows[split].size(); ++file) {
        const auto found = std::ranges::find(classes_, categories[split][file]);
        labels_.back().insert(labels_.back().end(), rows[split][file].size(),
                              found == classes_.end() ? -1 : found - classes_.begin());
      }
    }
  }

  void note_left_out() {
    note("the values are read as {}", value_ == LmdbValue::picture ? "pictures"
                                      : value_ == LmdbValue::datum ? "Datum messages of Caffe"
                                      : value_ == LmdbValue::text  ? "texts"
                                                                   : "bytes");
    if (is_guessed_bytes_) {
      notes_.back() += fmt::format(
          ", because they are neither pictures nor Datum messages; for texts, "
          "use {}",
          option_set("value", "text"));
    }
    if (num_raw_ > 0) {
      note(
          "{} picture{} stored without loss: three planes as PPM, in the order {}, "
          "one plane as PNG",
          num_raw_, num_raw_ == 1 ? " has raw pixels and is" : "s have raw pixels and are",
          plane_order_ == PlaneOrder::bgr
              ? fmt::format("blue, green, red, as convert_imageset writes them (if not, use {})",
                            option_name("rgb"))
              : std::string("red, green, blue"));
    }
    if (!left_out_.empty()) {
      note("entries that only describe others are left out: '{}'", fmt::join(left_out_, "', '"));
    }
    if (num_others_ == 0) return;
    note("{} other value{} a bad sample: '{}'{}", num_others_,
         num_others_ == 1 ? " is" : "s are each", fmt::join(others_, "', '"),
         num_others_ > std::ssize(others_) ? ", ..." : "");
  }

  const PlaneOrder plane_order_;
  LmdbValue value_ = LmdbValue::bytes;
  LmdbContent content_ = LmdbContent::other;  // of pictures and Datum messages
  bool has_datum_label_ = false;
  bool is_guessed_bytes_ = false;
  int64_t num_raw_ = 0;
  std::optional<LmdbMembers> members_;
  std::vector<std::vector<MemberPlaces>> places_;  // by split and row, of members_
  std::vector<std::vector<std::string>> ids_;      // by split and row
  std::vector<std::string> classes_;
  std::vector<std::vector<int64_t>> labels_;  // by split and row, of classes_
  std::set<std::string> left_out_;
  int64_t num_others_ = 0;           // values that are something else
  std::vector<std::string> others_;  // ids of the first ones
};

}  // namespace

std::unique_ptr<Source> open_lmdb(const fs::path& path, const LmdbOptions& options) {
  return make_row_source(std::make_unique<LmdbRows>(Place(path).path(), options), options.rows);
}

void describe(LmdbOptions& options, OptionTable& table) {
  table.add_choice(
      "value", options.value,
      "Kind of the values. 'picture' means files of pictures, and 'datum' means Datum messages of "
      "Caffe. 'bytes' and 'text' store the values as they are. 'auto' means 'picture' or 'datum' "
      "if at least half of the values have this kind, or else 'bytes'");
  table.add("rgb", options.is_rgb,
            "Pixels in Datum messages have the order red, green, blue. Without this option, the "
            "order is blue, green, red");
  table
      .add("database", options.database,
           "Name of the database to convert, if a file has several databases")
      .set_default("the only one");
  describe(options.rows, table);
}

SourceKind lmdb_kind() {
  return {.name = "lmdb",
          .description = "LMDB: pictures with keys as in LSUN, Datum messages of Caffe, or bytes",
          .example = "/data/lsun /fast/lsun",
          .options = make_source_options<KindOptions<LmdbOptions, open_lmdb>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 58};
}

}  // namespace ffkit
