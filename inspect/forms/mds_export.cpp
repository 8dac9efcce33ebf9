#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/enum_names.h>
#include <ffkit/format/record.h>
#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "export/exported.h"
#include "forms/exporter.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr EnumName<DType> kNumpyNames[] = {
    {DType::u8, "uint8"},     {DType::i8, "int8"},     {DType::u16, "uint16"},
    {DType::i16, "int16"},    {DType::u32, "uint32"},  {DType::i32, "int32"},
    {DType::u64, "uint64"},   {DType::i64, "int64"},   {DType::f16, "float16"},
    {DType::bf16, "float32"}, {DType::f32, "float32"}, {DType::f64, "float64"}};

std::string kind_of_picture(std::span<const std::byte> image) {
  const ImageEncoding encoding = detect_image_encoding(image);
  if (encoding == ImageEncoding::jpeg || encoding == ImageEncoding::dct) return "jpeg";
  return encoding == ImageEncoding::png ? "png" : "bytes";
}

void put_u32(size_t number, std::string& out) {
  if (number > std::numeric_limits<uint32_t>::max()) {
    throw error_of(ErrorCode::unsupported,
                   "has a value of {} bytes, but MDS allows at most 4 GiB; export in another form",
                   number);
  }
  const auto value = static_cast<uint32_t>(number);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_bytes(std::span<const std::byte> bytes, std::string& out) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Streaming's NDArray with a dtype in its name: a byte of 4 * dimensions + the log2 of the bytes of
// a size, the sizes, the numbers.
void put_array(const TensorView& tensor, std::string& out) {
  constexpr size_t kMaxDimensions = 63;
  if (tensor.shape.size() > kMaxDimensions) {
    throw error_of(ErrorCode::unsupported,
                   "has a tensor of {} dimensions, but MDS allows at most {}", tensor.shape.size(),
                   kMaxDimensions);
  }
  int64_t largest = 0;
  for (const int64_t size : tensor.shape) largest = std::max(largest, size);
  const int log2 = largest < (1LL << 8)    ? 0
                   : largest < (1LL << 16) ? 1
                   : largest < (1LL << 32) ? 2
                                           : 3;
  out += static_cast<char>(tensor.shape.size() << 2 | static_cast<size_t>(log2));
  for (const int64_t size : tensor.shape) {
    out.append(reinterpret_cast<const char*>(&size), size_t{1} << log2);  // little-endian
  }
  append_numbers(tensor.dtype, tensor.data, out);
}

// What a record's fields are called and hold as columns of an MDS sample (MosaicML Streaming,
// format version 2). A column is called as its field.
//
//   image             jpeg or png, by the split's first picture; bytes where it is neither
//   integer i64       int                      other scalars   uint8 ... float64
//   string            str                      bytes           bytes
//   tensor            ndarray:<dtype>          list of images  list[jpeg], list[png]
//   list of strings   json, an array
//
// bf16 is float32. Streaming opens "jpeg" and "png" alike, by what they are.
struct MdsColumn {
  size_t field = 0;
  std::string name;
  std::string encoding;   // "jpeg", "ndarray:float32"
  int64_t num_bytes = 0;  // of each value, or 0: values have sizes of their own
};

// Thread-safe once it is made.
class MdsColumns {
 public:
  // Reads records of `source`, which must outlive it, up to the first picture of each field. Throws
  // Error(unsupported) for lists of tensors and of bytes, which MDS has no encoding for.
  explicit MdsColumns(const ExportSource& source) : source_(source) {
    const Schema& schema = source.schema();
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      MdsColumn column{.field = i, .name = field.name, .encoding = encoding_of(field, i)};
      if (field.type == FieldType::scalar) {
        column.num_bytes =
            static_cast<int64_t>(size_of(field.dtype == DType::bf16 ? DType::f32 : field.dtype));
      }
      columns_.push_back(std::move(column));
    }
    std::ranges::sort(columns_, {}, &MdsColumn::name);
    num_others_ = std::make_unique<std::atomic<int64_t>[]>(columns_.size());
  }

  // In the order of a sample: by name.
  const std::vector<MdsColumn>& columns() const { return columns_; }
  // The bytes of a sample: the sizes of values that have their own, as u32, then all values. Throws
  // Error(invalid_argument) for a null field, which MDS cannot hold, Error(unsupported) for a value
  // of more than 4 GiB, and as image_file().
  std::string sample_of(const RecordView& record) const {
    std::string sizes;
    std::string values;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string value = value_of(record, i);
      if (columns_[i].num_bytes == 0) put_u32(value.size(), sizes);
      values += value;
    }
    return sizes + values;
  }

  // What is not as it was, one sentence for a field.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const MdsColumn& column = columns_[i];
      const Field& field = source_.schema().fields[column.field];
      if (num_others_[i] > 0) {
        notes.push_back(
            fmt::format("column '{}': pictures in another encoding than that of the column, {} "
                        "(Streaming opens them by their content): {}",
                        column.name, column.encoding, with_commas(num_others_[i])));
      }
      if (has_dtype(field) && field.dtype == DType::bf16) {
        notes.push_back(fmt::format("field '{}' of bf16 is written as float32, which loses nothing",
                                    column.name));
      }
      if (field.type == FieldType::image && column.encoding == "bytes") {
        notes.push_back(
            fmt::format("field '{}' is a column of bytes, because its first picture is "
                        "neither JPEG nor PNG",
                        column.name));
      }
    }
    return notes;
  }

 private:
  std::string encoding_of(const Field& field, size_t position) const {
    switch (field.type) {
      case FieldType::image:
        return first_picture(position, false);
      case FieldType::scalar:
        return field.dtype == DType::i64 ? "int" : std::string(name_of(kNumpyNames, field.dtype));
      case FieldType::string:
        return "str";
      case FieldType::tensor:
        return fmt::format("ndarray:{}", name_of(kNumpyNames, field.dtype));
      case FieldType::bytes:
        return "bytes";
      case FieldType::list:
        break;
    }
    if (field.item == FieldType::string) return "json";
    const std::string kind = field.item == FieldType::image ? first_picture(position, true) : "";
    if (kind == "jpeg" || kind == "png") return fmt::format("list[{}]", kind);
    throw dataset_error(source_.dataset().path(), ErrorCode::unsupported,
                        "field '{}' is a list of {}, which MDS cannot store; leave it out with "
                        "--fields, or export with --as webdataset or --as files",
                        field.name,
                        field.item == FieldType::image    ? "pictures that are neither JPEG nor PNG"
                        : field.item == FieldType::tensor ? "tensors"
                                                          : "bytes");
  }

  std::string first_picture(size_t position, bool is_list) const {
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < source_.dataset().num_records(); ++i) {
      source_.dataset().read(i, bytes);
      const RecordView record = source_.view(i, bytes);
      if (record.is_null(position)) continue;
      if (!is_list) return kind_of_picture(record.bytes(position));
      if (record.list(position).size() > 0) return kind_of_picture(record.list(position).bytes(0));
    }
    return is_list ? "jpeg" : "bytes";
  }

  void put_picture(std::span<const std::byte> image, size_t column, std::string& value) const {
    const std::string& encoding = columns_[column].encoding;
    if (encoding != "bytes" && encoding.find(kind_of_picture(image)) == std::string::npos) {
      ++num_others_[column];
    }
    std::vector<std::byte> jpeg;
    put_bytes(image_file(image, jpeg), value);
  }

  std::string value_of(const RecordView& record, size_t column) const {
    const Field& field = source_.schema().fields[columns_[column].field];
    const FieldView view = record.field(columns_[column].field);
    if (view.is_null()) {
      throw error_of(
          ErrorCode::invalid_argument,
          "field '{}' is null, which MDS cannot store; leave it out with --fields, choose "
          "other records with --where or --indices, or export with --as webdataset or "
          "--as files",
          field.name);
    }
    std::string value;
    switch (field.type) {
      case FieldType::image:
        put_picture(view.bytes(), column, value);
        break;
      case FieldType::scalar:
        view.verify();  // as many bytes as its dtype has
        append_numbers(field.dtype, view.raw(), value);
        break;
      case FieldType::tensor:
        put_array(view.tensor(), value);
        break;
      case FieldType::string:
      case FieldType::bytes:
        put_bytes(view.raw(), value);
        break;
      case FieldType::list: {
        const ListView list = view.list();
        if (field.item == FieldType::string) return json_array_of(field, list);
        // Streaming's List: four bytes of zeros, the number of items, their sizes, the items.
        std::string pictures;
        put_u32(0, value);
        put_u32(list.size(), value);
        for (size_t i = 0; i < list.size(); ++i) {
          const size_t before = pictures.size();
          put_picture(list.bytes(i), column, pictures);
          put_u32(pictures.size() - before, value);
        }
        value += pictures;
      }
    }
    return value;
  }

  const ExportSource& source_;
  std::vector<MdsColumn> columns_;
  // By column: pictures of another kind than it says.
  std::unique_ptr<std::atomic<int64_t>[]> num_others_;
};

constexpr int64_t kMaxShardBytes = std::numeric_limits<uint32_t>::max();  // offsets are u32

Json config_of(const MdsColumns& columns, int64_t shard_bytes) {
  Json names = Json::array();
  Json encodings = Json::array();
  Json sizes = Json::array();
  for (const MdsColumn& column : columns.columns()) {
    names.push_back(column.name);
    encodings.push_back(column.encoding);
    sizes.push_back(column.num_bytes > 0 ? Json(column.num_bytes) : Json(nullptr));
  }
  return {{"column_encodings", encodings}, {"column_names", names}, {"column_sizes", sizes},
          {"compression", nullptr},        {"format", "mds"},       {"hashes", Json::array()},
          {"size_limit", shard_bytes},     {"version", 2}};
}

// The shards of a split, one after the other, and their index.
//
//   | u32 samples | u32 offset[samples + 1] | the config, JSON | sample | sample | ...
class MdsShards {
 public:
  MdsShards(std::filesystem::path folder, Json config, int64_t max_bytes)
      : folder_(std::move(folder)),
        config_(std::move(config)),
        config_text_(config_.dump()),
        max_bytes_(max_bytes),
        num_bytes_(empty_bytes()) {
    make_folder(folder_);
  }

  void append(std::string sample) {
    const int64_t size = std::ssize(sample) + kOffsetBytes;
    if (!samples_.empty() && num_bytes_ + size > max_bytes_) write_shard();
    if (num_bytes_ + size > kMaxShardBytes) {
      throw error_of(ErrorCode::unsupported,
                     "has {} bytes, but a shard of MDS has at most 4 GiB; export in another form",
                     sample.size());
    }
    num_bytes_ += size;
    samples_.push_back(std::move(sample));
  }

  void finish() {
    if (!samples_.empty()) write_shard();
    const std::string index = json_text({{"shards", shards_}, {"version", 2}});
    write_new_file(folder_ / "index.json", std::as_bytes(std::span(index)));
    total_bytes_ += std::ssize(index);
  }

  // The index included.
  int64_t num_files() const { return std::ssize(shards_) + 1; }
  int64_t num_bytes() const { return total_bytes_; }

 private:
  static constexpr int64_t kOffsetBytes = sizeof(uint32_t);

  // Of a shard without samples.
  int64_t empty_bytes() const { return 2 * kOffsetBytes + std::ssize(config_text_); }

  void write_shard() {
    const std::string name = fmt::format("shard.{:05}.mds", shards_.size());
    std::vector<uint32_t> head = {static_cast<uint32_t>(samples_.size())};
    head.reserve(samples_.size() + 2);
    auto offset = static_cast<uint32_t>(empty_bytes() + std::ssize(samples_) * kOffsetBytes);
    head.push_back(offset);
    for (const std::string& sample : samples_) {
      head.push_back(offset += static_cast<uint32_t>(sample.size()));
    }
    ShardFile file(folder_ / name);
    file.write(std::as_bytes(std::span(head)));
    file.write(config_text_);
    for (const std::string& sample : samples_) {
      throw_if_stopped();
      file.write(sample);
    }
    file.close();
    Json shard = config_;
    shard["raw_data"] = {
        {"basename", name}, {"bytes", file.num_bytes()}, {"hashes", Json::object()}};
    shard["samples"] = samples_.size();
    shard["zip_data"] = nullptr;
    shards_.push_back(std::move(shard));
    total_bytes_ += file.num_bytes();
    samples_.clear();
    num_bytes_ = empty_bytes();
  }

  const std::filesystem::path folder_;
  const Json config_;
  const std::string config_text_;
  const int64_t max_bytes_;
  std::vector<std::string> samples_;
  int64_t num_bytes_ = 0;  // of the shard that `samples_` make
  int64_t total_bytes_ = 0;
  Json shards_ = Json::array();
};

}  // namespace

void require_mds(const ExportSource& source) {
  const MdsColumns columns(source);
}

ExportedSplit export_mds(const ExportSource& source, const std::filesystem::path& destination,
                         int64_t shard_bytes) {
  const Dataset& dataset = source.dataset();
  const MdsColumns columns(source);
  ExportedSplit result{.split = source.split(), .num_records = dataset.num_records()};
  ProgressLine progress(result.split, dataset.manifest().file_bytes());
  MdsShards shards(destination / result.split, config_of(columns, shard_bytes), shard_bytes);
  export_records<std::string>(
      source, progress,
      {.make = [&](int64_t, const RecordView& record) { return columns.sample_of(record); },
       .place = [&](int64_t, const RecordView&,
                    std::string& sample) { shards.append(std::move(sample)); },
       .write = nullptr});
  shards.finish();
  result.num_files = shards.num_files();
  result.num_bytes = shards.num_bytes();
  for (std::string& sentence : columns.notes()) result.notes.push_back({std::move(sentence)});
  return result;
}

}  // namespace ffkit
