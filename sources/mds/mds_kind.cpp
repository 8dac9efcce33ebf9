// MDS, the format of MosaicML Streaming (streaming/base/format/mds/ is its reader).
//
//   shard  u32 n │ u32 offsets[n + 1] │ its configuration in JSON │ samples
//   sample u32 sizes, of columns without a fixed one │ values, one behind the other

#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/format/schema.h>

#include "base/number_text.h"
#include "converter/input/row_values.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/file_group.h"
#include "files/file_window.h"
#include "rows/indexed_rows.h"
#include "rows/row_source.h"
#include "rows/stored_values.h"

namespace ffkit {
namespace {

// Encodings of MosaicML's columns, by their names in index.json.

enum class MdsKind : uint8_t {
  plain,         // the bytes are the value: bytes, str, jpeg, png, json, str_decimal
  number,        // of the field's dtype
  text_integer,  // str_int
  text_real,     // str_float
  pillow,        // pil
  jpeg_array,
  picture_list,  // list[jpeg], list[png]
  pillow_list,   // list[pil]
  array,         // ndarray
  refused,
};

struct MdsEncoding {
  MdsKind kind = MdsKind::refused;
  Field field;                                // without its name
  std::optional<DType> dtype;                 // of arrays, where the name says it
  std::optional<std::vector<int64_t>> shape;  // likewise
  std::string refusal;                        // of refused: "holds ..."
};

struct NumberType {
  std::string_view name;
  DType dtype;
  uint8_t number;  // in arrays that say their dtype
};

constexpr NumberType kNumberTypes[] = {
    {"uint8", DType::u8, 8},   {"int8", DType::i8, 9},      {"uint16", DType::u16, 16},
    {"int16", DType::i16, 17}, {"float16", DType::f16, 18}, {"uint32", DType::u32, 32},
    {"int32", DType::i32, 33}, {"float32", DType::f32, 34}, {"uint64", DType::u64, 64},
    {"int64", DType::i64, 65}, {"float64", DType::f64, 66},
};

std::optional<DType> dtype_called(std::string_view name) {
  const auto* const found = std::ranges::find(kNumberTypes, name, &NumberType::name);
  if (found == std::end(kNumberTypes)) return std::nullopt;
  return found->dtype;
}

MdsEncoding refused_encoding(std::string refusal) {
  return {.kind = MdsKind::refused, .field = {}, .refusal = std::move(refusal)};
}

// "3,4"; nothing for what is no shape. Sides are 1 or more.
std::optional<std::vector<int64_t>> array_shape(std::string_view text) {
  std::vector<int64_t> shape;
  do {
    int64_t side = 0;
    if (!take_number(text, side) || side < 1) return std::nullopt;
    shape.push_back(side);
  } while (take_text(text, ","));
  return text.empty() ? std::optional(shape) : std::nullopt;
}

// `text`: what is behind "ndarray:"; nothing for what is not an array's.
std::optional<MdsEncoding> parse_array(std::string_view text) {
  MdsEncoding encoding{.kind = MdsKind::array, .field = {.type = FieldType::tensor}};
  if (text.empty()) return encoding;
  const size_t colon = text.find(':');
  encoding.dtype = dtype_called(text.substr(0, colon));
  if (!encoding.dtype) return std::nullopt;
  encoding.field.dtype = *encoding.dtype;
  if (colon == std::string_view::npos) return encoding;
  encoding.shape = array_shape(text.substr(colon + 1));
  if (!encoding.shape) return std::nullopt;
  return encoding;
}

// "ndarray:uint8:3,4".
MdsEncoding parse_mds_encoding(const std::string& name) {
  const auto plain = [](FieldType type) {
    return MdsEncoding{.kind = MdsKind::plain, .field = {.type = type}};
  };
  const auto number = [](MdsKind kind, DType dtype) {
    return MdsEncoding{.kind = kind, .field = {.type = FieldType::scalar, .dtype = dtype}};
  };
  const auto pictures = [](MdsKind kind) {
    return MdsEncoding{.kind = kind, .field = {.type = FieldType::list, .item = FieldType::image}};
  };
  if (name == "bytes") return plain(FieldType::bytes);
  if (name == "str" || name == "json" || name == "str_decimal") return plain(FieldType::string);
  if (name == "jpeg" || name == "png") return plain(FieldType::image);
  if (name == "pil") return {.kind = MdsKind::pillow, .field = {.type = FieldType::image}};
  if (name == "int") return number(MdsKind::number, DType::i64);
  if (name == "str_int") return number(MdsKind::text_integer, DType::i64);
  if (name == "str_float") return number(MdsKind::text_real, DType::f64);
  if (name == "jpeg_array" || name == "jpegarray") return pictures(MdsKind::jpeg_array);
  if (name == "list[jpeg]" || name == "list[png]") return pictures(MdsKind::picture_list);
  if (name == "list[pil]") return pictures(MdsKind::pillow_list);
  if (const auto dtype = dtype_called(name)) return number(MdsKind::number, *dtype);
  if (name == "ndarray" || name.starts_with("ndarray:")) {
    const auto array = parse_array(name == "ndarray" ? "" : std::string_view(name).substr(8));
    if (array) return *array;
  }
  if (name == "pkl") {
    return refused_encoding(
        "has the encoding 'pkl', which contains pickled Python objects, and these objects can run "
        "programs when a program reads them");
  }
  return refused_encoding(
      fmt::format("has the encoding '{}', which MosaicML Streaming does not define", name));
}

// The dtype that stands for `number` in arrays; throws Error(corrupt) for others.
DType mds_array_dtype(uint8_t number) {
  const auto* const found = std::ranges::find(kNumberTypes, number, &NumberType::number);
  if (found != std::end(kNumberTypes)) return found->dtype;
  throw error_of(ErrorCode::corrupt, "the value is an array with the unknown type number {}",
                 number);
}

struct MdsColumn {
  std::string name;
  std::string encoding;
  int64_t num_bytes = 0;  // 0: each value says how many
  bool operator==(const MdsColumn&) const = default;
};

template <typename T>
T number_in(std::span<const std::byte> bytes) {
  const std::string_view text = row_text(bytes);
  T value{};
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error == std::errc::result_out_of_range) {
    throw error_of(ErrorCode::unsupported, "the value is {}, which does not fit into 64 bits",
                   text.substr(0, 40));
  }
  if (error != std::errc() || end != text.end()) {
    throw error_of(ErrorCode::corrupt, "the value is '{}', but must be a number",
                   text.substr(0, 40));
  }
  return value;
}

std::vector<MdsColumn> columns_of(const IndexValue& shard) {
  const auto names = shard.at("column_names").list();
  const auto encodings = shard.at("column_encodings").list();
  const auto sizes = shard.at("column_sizes").list();
  if (names.size() != encodings.size() || names.size() != sizes.size()) {
    throw shard.error(ErrorCode::corrupt,
                      fmt::format("has {} column names, but {} encodings and {} sizes; write the "
                                  "index again",
                                  names.size(), encodings.size(), sizes.size()));
  }
  std::vector<MdsColumn> columns;
  columns.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    columns.push_back({.name = names[i].text(),
                       .encoding = encodings[i].text(),
                       .num_bytes = sizes[i].is_null() ? 0 : sizes[i].count()});
  }
  return columns;
}

void require_mds(const IndexFile& index) {
  if (index.root().find("chunks")) {
    throw index.root().error(ErrorCode::unsupported,
                             "has the format of LitData; convert the folder as the kind 'litdata'");
  }
}

void require_shard(const IndexValue& shard) {
  const int64_t version = shard.at("version").count();
  const std::string format = shard.at("format").text();
  if (version != 2 || format != "mds") {
    throw shard.error(
        ErrorCode::unsupported,
        fmt::format("has the format '{}' of version {}, but ffkit reads only the format 'mds' of "
                    "version 2; write the shard again with MDSWriter of a newer MosaicML Streaming",
                    format, version));
  }
}

IndexedFile file_of(const fs::path& folder, const IndexValue& shard) {
  require_shard(shard);
  const IndexValue raw = shard.at("raw_data");
  IndexedFile file{.path = folder / raw.at("basename").relative_path(),
                   .num_rows = shard.at("samples").count(),
                   .num_bytes = raw.at("bytes").count()};
  if (const auto hashes = raw.find("hashes")) file.hashes = hashes->texts();
  const auto zip = shard.find("zip_data");
  if (!zip) return file;
  file.compressed = folder / zip->at("basename").relative_path();
  const std::string compression = shard.at("compression").text();
  const std::string name = compression.substr(0, compression.find(':'));
  if (name != "zstd" && name != "gz" && name != "bz2") {
    file.refused_compression = fmt::format(
        "the shard is compressed with '{}', which ffkit cannot read; to get decompressed shards, "
        "read the folder once with MosaicML's StreamingDataset(local=...)",
        name);
  }
  return file;
}

class MdsRows final : public IndexedRows {
 public:
  MdsRows(const fs::path& path, const RowOptions& options) : IndexedRows("mds", path, options) {
    for (const IndexedFolder& folder : find_indexed_folders(path, "MosaicML Streaming", notes_)) {
      if (options.group != nullptr && options.group->split != folder.split) continue;
      read_index(folder, options);
    }
    set_columns(options);
    keep_found(options.group, columns_);
    note_hashes(options.check_hashes);
  }

 protected:
  void parse(std::span<const std::byte> row, std::span<RowValue> values,
             SampleBuffers& buffers) const override {
    for_each_cell(row, [&](size_t column, std::span<const std::byte> cell) {
      const std::optional<size_t>& position = positions_[column];
      if (!position) return;
      in_column(mds_columns_[column].name,
                [&] { decode(column, cell, values[*position], buffers); });
    });
  }

 private:
  // Of all files, or of those of a group.
  static bool is_taken(const IndexedFile& file, const std::set<fs::path>& taken) {
    return taken.empty() || taken.contains(file.path) ||
           (file.compressed && taken.contains(*file.compressed));
  }

  void read_index(const IndexedFolder& folder, const RowOptions& options) {
    std::set<fs::path> taken;
    if (options.group != nullptr) {
      for (fs::path& path : paths_of(*options.group)) taken.insert(std::move(path));
    }
    const IndexFile index(folder.folder);
    std::vector<IndexedFile> files;
    require_mds(index);
    for (const IndexValue& shard : index.root().at("shards").list()) {
      IndexedFile file = file_of(folder.folder, shard);
      std::vector<MdsColumn> columns = columns_of(shard);
      if (!has_columns_) mds_columns_ = columns;
      has_columns_ = true;
      if (columns != mds_columns_) {
        throw shard.error(ErrorCode::unsupported,
                          "does not have the same columns as the first shard; convert folders with "
                          "different columns separately");
      }
      if (!is_taken(file, taken)) continue;
      for (const auto& [algorithm, digits] : file.hashes) ++num_hashes_[algorithm];
      files.push_back(std::move(file));
    }
    add_indexed_split(folder, index, files);
  }

  void note_hashes(bool are_checked) {
    std::vector<std::string> checked;
    std::vector<std::string> others;
    for (const auto& [algorithm, count] : num_hashes_) {
      const bool is_checked = are_checked && is_known_hash(algorithm);
      (is_checked ? checked : others)
          .push_back(fmt::format("{} of {} shard{}", algorithm, count, count == 1 ? "" : "s"));
    }
    if (!checked.empty()) {
      note("hashes in index.json were compared: {}", fmt::join(checked, ", "));
    }
    if (!others.empty()) {
      note("hashes in index.json are not checked: {}; sizes and sample tables are checked{}",
           fmt::join(others, ", "),
           are_checked ? ""
                       : fmt::format(" ({} also compares the hashes, but reads all shards)",
                                     option_name("check_hashes")));
    }
    if (are_checked && num_hashes_.empty()) {
      note("index.json has no hashes to compare");
    }
  }

  void set_columns(const RowOptions& options) {
    std::vector<RefusedColumn> refused;
    for (const MdsColumn& column : mds_columns_) {
      MdsEncoding encoding = parse_mds_encoding(column.encoding);
      encoding.field.name = column.name;
      encodings_.push_back(std::move(encoding));
      if (encodings_.back().kind == MdsKind::refused) {
        refused.push_back({column.name, encodings_.back().refusal});
      }
    }
    refuse(refused, options);
    for (size_t i = 0; i < encodings_.size(); ++i) {
      MdsEncoding& encoding = encodings_[i];
      positions_.emplace_back();
      if (encoding.kind == MdsKind::refused) continue;
      if (encoding.kind == MdsKind::array && !encoding.dtype) {
        encoding.field.dtype = first_dtype(i, options);
        note(
            "the column '{}' does not name the type of its arrays; ffkit uses {}, the type in the "
            "first sample",
            mds_columns_[i].name, to_string(encoding.field.dtype));
      }
      if (encoding.kind == MdsKind::pillow || encoding.kind == MdsKind::pillow_list) {
        note("the column '{}' {}", mds_columns_[i].name, kPillowStored);
      }
      if (encoding.field.type == FieldType::bytes && holds_pictures(i, options)) {
        encoding.field.type = FieldType::image;
      }
      positions_[i] = columns_.size();
      columns_.push_back({.field = encoding.field});
    }
  }

  // Of a column of bytes, by the first sample that can be read.
  bool holds_pictures(size_t column, const RowOptions& options) const {
    if (const auto* const found = found_before<std::vector<RowColumn>>(options.group)) {
      const auto before = std::ranges::find(*found, mds_columns_[column].name,
                                            [](const RowColumn& c) { return c.field.name; });
      return before != found->end() && before->field.type == FieldType::image;
    }
    return by_first_row([&](std::span<const std::byte> row, SampleBuffers&) {
      bool is_picture = false;
      for_each_cell(row, [&](size_t i, std::span<const std::byte> cell) {
        if (i == column) is_picture = begins_as_picture(cell);
      });
      return is_picture;
    });
  }

  // Of the arrays in a column, by the first sample that can be read.
  DType first_dtype(size_t column, const RowOptions& options) const {
    if (const auto* const found = found_before<std::vector<RowColumn>>(options.group)) {
      for (const RowColumn& before : *found) {
        if (before.field.name == mds_columns_[column].name) return before.field.dtype;
      }
    }
    return by_first_row([&](std::span<const std::byte> row, SampleBuffers&) {
      DType dtype = DType::u8;
      for_each_cell(row, [&](size_t i, std::span<const std::byte> cell) {
        if (i == column) dtype = mds_array_dtype(StoredBytes(cell).number<uint8_t>());
      });
      return dtype;
    });
  }

  template <typename Use>
  void for_each_cell(std::span<const std::byte> row, const Use& use) const {
    StoredBytes from(row);
    std::vector<uint64_t> sizes;
    sizes.reserve(mds_columns_.size());
    for (const MdsColumn& column : mds_columns_) {
      sizes.push_back(column.num_bytes > 0 ? static_cast<uint64_t>(column.num_bytes)
                                           : from.number<uint32_t>());
    }
    for (size_t i = 0; i < sizes.size(); ++i) use(i, from.take(sizes[i]));
    from.require_end();
  }

  void decode(size_t column, std::span<const std::byte> cell, RowValue& value,
              SampleBuffers& buffers) const {
    const MdsEncoding& encoding = encodings_[column];
    value.is_null = false;
    switch (encoding.kind) {
      case MdsKind::plain:
        return value.set_bytes(cell);
      case MdsKind::number:
        value.bits = stored_scalar(cell, size_of(encoding.field.dtype));
        return;
      case MdsKind::text_integer:
        return value.set_scalar(number_in<int64_t>(cell));
      case MdsKind::text_real:
        return value.set_scalar(number_in<double>(cell));
      case MdsKind::pillow:
        return value.set_bytes(stored_pillow(cell, buffers));
      case MdsKind::array:
        return value.set_tensor(array_in(encoding, cell));
      case MdsKind::jpeg_array:
        value.items = stored_items(cell);
        return;
      case MdsKind::picture_list:
      case MdsKind::pillow_list: {
        StoredBytes list(cell);
        (void)list.number<uint32_t>();  // room for features that there are not yet
        value.items = stored_items(list.rest());
        if (encoding.kind == MdsKind::picture_list) return;
        for (std::span<const std::byte>& item : value.items) item = stored_pillow(item, buffers);
        return;
      }
      case MdsKind::refused:
        return;
    }
  }

  static TensorView array_in(const MdsEncoding& encoding, std::span<const std::byte> cell) {
    StoredBytes from(cell);
    const DType dtype = encoding.dtype ? *encoding.dtype : mds_array_dtype(from.number<uint8_t>());
    if (dtype != encoding.field.dtype) {
      throw error_of(
          ErrorCode::unsupported,
          "the value is an array of {}, but earlier arrays have {}; convert all arrays to one type",
          to_string(dtype), to_string(encoding.field.dtype));
    }
    if (encoding.shape) return stored_tensor(dtype, *encoding.shape, from.rest());
    const auto head = from.number<uint8_t>();
    const size_t side_bytes = size_t{1} << (head % 4);
    std::vector<int64_t> shape(head / 4);
    for (int64_t& side : shape) side = static_cast<int64_t>(from.unsigned_number(side_bytes));
    return stored_tensor(dtype, std::move(shape), from.rest());
  }

  bool has_columns_ = false;
  std::map<std::string, int64_t> num_hashes_;  // by algorithm
  std::vector<MdsColumn> mds_columns_;
  std::vector<MdsEncoding> encodings_;            // of mds_columns_
  std::vector<std::optional<size_t>> positions_;  // of mds_columns_ in columns_
};

class MdsKindOptions final : public KindOptions<RowOptions, open_mds, mds_files> {
 public:
  void describe(OptionTable& table) override {
    table.add("check-hashes", options_.check_hashes,
              "Compares all shards with the hashes in index.json before the conversion");
    KindOptions::describe(table);
  }
};

}  // namespace

std::unique_ptr<Source> open_mds(const fs::path& path, const RowOptions& options) {
  return make_row_source(std::make_unique<MdsRows>(Place(path).path(), options), options);
}

FileListing mds_files(const fs::path& path, const RowOptions& /*options*/) {
  const PlacesListed listed;
  FileListing all;
  for (const IndexedFolder& folder :
       find_indexed_folders(Place(path).path(), "MosaicML Streaming", all.notes)) {
    const IndexFile index(folder.folder);
    require_mds(index);
    std::vector<IndexedFile> files;
    for (const IndexValue& shard : index.root().at("shards").list()) {
      files.push_back(file_of(folder.folder, shard));
    }
    all.splits.push_back(listed_files(folder, files, all.notes));
    if (all.splits.back().files.empty()) {
      throw source_error(index.path(), ErrorCode::not_found,
                         "the index lists no samples; give a folder with samples");
    }
  }
  return all;
}

SourceKind mds_kind() {
  return {.name = "mds",
          .description =
              "MDS shards of MosaicML Streaming: a folder with index.json, or a folder of such "
              "folders",
          .example = "/data/imagenet-mds /fast/imagenet",
          .options = make_source_options<MdsKindOptions>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 34};
}

}  // namespace ffkit
