#include "forms/mds_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/image/image_codec.h>

#include "base/enum_names.h"
#include "base/make_error.h"
#include "base/readable_numbers.h"
#include "forms/json_array.h"
#include "text/fields.h"

namespace ffkit {
namespace {

constexpr EnumName<DType> kNumpyNames[] = {
    {DType::u8, "uint8"},     {DType::i8, "int8"},     {DType::u16, "uint16"},
    {DType::i16, "int16"},    {DType::u32, "uint32"},  {DType::i32, "int32"},
    {DType::u64, "uint64"},   {DType::i64, "int64"},   {DType::f16, "float16"},
    {DType::bf16, "float32"}, {DType::f32, "float32"}, {DType::f64, "float64"}};

std::string kind_of_picture(std::span<const std::byte> image) {
  switch (detect_image_encoding(image)) {
    case ImageEncoding::jpeg:
    case ImageEncoding::dct:
      return "jpeg";
    case ImageEncoding::png:
      return "png";
    default:
      return "bytes";
  }
}

void put_u32(size_t number, std::string& out) {
  if (number > std::numeric_limits<uint32_t>::max()) {
    throw error_of(ErrorCode::unsupported,
                   "has a value of {} bytes; MDS holds 4 GiB at most; export in another form",
                   number);
  }
  const auto value = static_cast<uint32_t>(number);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_bytes(std::span<const std::byte> bytes, std::string& out) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// bf16 as float32, which loses nothing.
void put_numbers(DType dtype, std::span<const std::byte> data, std::string& out) {
  if (dtype != DType::bf16) return put_bytes(data, out);
  for (size_t at = 0; at < data.size(); at += sizeof(BFloat16)) {
    const auto value = static_cast<float>(load_number<BFloat16>(data.data() + at));
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
}

// Streaming's NDArray with a dtype in its name: a byte of 4 * dimensions + the log2 of the bytes of
// a size, the sizes, the numbers.
void put_array(const TensorView& tensor, std::string& out) {
  constexpr size_t kMaxDimensions = 63;
  if (tensor.shape.size() > kMaxDimensions) {
    throw error_of(ErrorCode::unsupported, "has a tensor of {} dimensions; MDS holds {} at most",
                   tensor.shape.size(), kMaxDimensions);
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
  put_numbers(tensor.dtype, tensor.data, out);
}

}  // namespace

MdsColumns::MdsColumns(const ExportSource& source) : source_(source) {
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

std::string MdsColumns::encoding_of(const Field& field, size_t position) const {
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
  throw dataset_error(
      source_.dataset().path(), ErrorCode::unsupported,
      "field '{}' is a list of {}, which MDS has no encoding for; leave it out with "
      "--fields, or export with --as webdataset or --as files",
      field.name,
      field.item == FieldType::image    ? "pictures that are neither JPEG nor PNG"
      : field.item == FieldType::tensor ? "tensors"
                                        : "bytes");
}

std::string MdsColumns::first_picture(size_t position, bool is_list) const {
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

void MdsColumns::put_picture(std::span<const std::byte> image, size_t column,
                             std::string& value) const {
  const std::string& encoding = columns_[column].encoding;
  if (encoding != "bytes" && encoding.find(kind_of_picture(image)) == std::string::npos) {
    ++num_others_[column];
  }
  std::vector<std::byte> jpeg;
  put_bytes(image_file(image, jpeg), value);
}

std::string MdsColumns::value_of(const RecordView& record, size_t column) const {
  const Field& field = source_.schema().fields[columns_[column].field];
  const FieldView view = record.field(columns_[column].field);
  if (view.is_null()) {
    throw error_of(
        ErrorCode::invalid_argument,
        "field '{}' is null, which MDS has no value for; leave it out with --fields, choose "
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
      put_numbers(field.dtype, view.raw(), value);
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

std::string MdsColumns::sample_of(const RecordView& record) const {
  std::string sizes;
  std::string values;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string value = value_of(record, i);
    if (columns_[i].num_bytes == 0) put_u32(value.size(), sizes);
    values += value;
  }
  return sizes + values;
}

std::vector<std::string> MdsColumns::notes() const {
  std::vector<std::string> notes;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const MdsColumn& column = columns_[i];
    const Field& field = source_.schema().fields[column.field];
    if (num_others_[i] > 0) {
      notes.push_back(
          fmt::format("pictures of the column '{}' that are not what its encoding, {}, "
                      "says, which Streaming opens by what they are: {}",
                      column.name, column.encoding, with_commas(num_others_[i])));
    }
    if (has_dtype(field) && field.dtype == DType::bf16) {
      notes.push_back(
          fmt::format("field '{}' of bf16 is float32, which loses nothing", column.name));
    }
    if (field.type == FieldType::image && column.encoding == "bytes") {
      notes.push_back(
          fmt::format("field '{}' is a column of bytes, since its first picture is "
                      "neither JPEG nor PNG",
                      column.name));
    }
  }
  return notes;
}

}  // namespace ffkit
