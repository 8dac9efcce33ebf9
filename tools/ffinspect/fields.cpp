#include "fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/error.h>
#include <ffkit/format/image_codec.h>

#include "npy.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxValuesInText = 16;

// u8 .. f64 print as themselves, f16 and bf16 as the float they stand for.
template <typename T>
auto printable(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <typename T>
std::string number_text(T value) {
  return fmt::to_string(printable(value));
}

template <typename T>
Json number_json(T value) {
  const auto number = printable(value);
  if constexpr (std::is_same_v<decltype(number), const float>) {
    // The shortest decimal that is this float: 0.1, not 0.10000000149011612.
    if (!std::isfinite(number)) return nullptr;
    return std::strtod(fmt::to_string(number).c_str(), nullptr);
  } else {
    return number;
  }
}

// Calls `function` with the scalar as a C++ number.
template <typename Function>
auto with_scalar(const Schema& schema, const RecordView& record, size_t i, Function function) {
  const Field& field = schema.fields[i];
  return visit_dtype(field.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const std::span<const std::byte> bytes = record.raw(i);
    if (bytes.size() != sizeof(T)) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}': {} bytes are not a scalar {}", field.name, bytes.size(),
                              to_string(field.dtype)));
    }
    return function(load_number<T>(bytes.data()));
  });
}

// Calls `function` with every number of the tensor.
template <typename Function>
void for_each_value(const TensorView& tensor, Function function) {
  visit_dtype(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t at = 0; at < tensor.data.size(); at += sizeof(T)) {
      function(load_number<T>(tensor.data.data() + at));
    }
  });
}

bool has_dtype(FieldType type) {
  return type != FieldType::bytes && type != FieldType::string && type != FieldType::image;
}

std::string image_text(std::span<const std::byte> image) {
  try {
    const ImageInfo info = read_image_info(image);
    return fmt::format("{} {} x {}, {} bytes", to_string(info.encoding), info.width, info.height,
                       image.size());
  } catch (const Error&) {
    return fmt::format(
        "{} bytes that are no {}", image.size(),
        detect_image_encoding(image) == ImageEncoding::unknown ? "known image" : "readable image");
  }
}

Json image_json(std::span<const std::byte> image) {
  Json json = {{"num_bytes", image.size()},
               {"encoding", to_string(detect_image_encoding(image))},
               {"width", nullptr},
               {"height", nullptr}};
  try {
    const ImageInfo info = read_image_info(image);
    json["width"] = info.width;
    json["height"] = info.height;
  } catch (const Error&) {  // nothing to add: null says that the header cannot be read
    return json;
  }
  return json;
}

std::string tensor_text(const TensorView& tensor, bool values) {
  std::string text = fmt::format("{} [{}]", to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
  const auto count = static_cast<int64_t>(tensor.data.size() / size_of(tensor.dtype));
  if (!values || count > kMaxValuesInText) return text;
  std::vector<std::string> numbers;
  for_each_value(tensor, [&](auto value) { numbers.push_back(number_text(value)); });
  return fmt::format("{}: {}", text, fmt::join(numbers, ", "));
}

Json tensor_json(const TensorView& tensor, bool values) {
  Json json = {{"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape}};
  if (values) {
    Json& list = json["values"] = Json::array();
    for_each_value(tensor, [&](auto value) { list.push_back(number_json(value)); });
  }
  return json;
}

}  // namespace

std::string describe_field(const Field& field) {
  std::string text = fmt::format("{} {}", escaped(field.name), to_string(field.type));
  if (has_dtype(field.type)) text += fmt::format(" {}", to_string(field.dtype));
  return text + (field.column ? ", column" : "");
}

Json field_description_json(const Field& field) {
  Json json = {{"name", field.name}, {"type", to_string(field.type)}};
  if (has_dtype(field.type)) json["dtype"] = to_string(field.dtype);
  json["column"] = field.column;
  return json;
}

std::string field_text(const Schema& schema, const RecordView& record, size_t i, bool values) {
  if (record.is_null(i)) return "null";
  switch (schema.fields[i].type) {
    case FieldType::string:
      return escaped(record.string(i));
    case FieldType::image:
      return image_text(record.bytes(i));
    case FieldType::tensor:
      return tensor_text(record.tensor(i), values);
    case FieldType::scalar:
      return with_scalar(schema, record, i, [](auto value) { return number_text(value); });
    default:
      return fmt::format("{} bytes", record.raw(i).size());
  }
}

Json field_json(const Schema& schema, const RecordView& record, size_t i, bool values) {
  if (record.is_null(i)) return nullptr;
  switch (schema.fields[i].type) {
    case FieldType::string:
      return record.string(i);
    case FieldType::image:
      return image_json(record.bytes(i));
    case FieldType::tensor:
      return tensor_json(record.tensor(i), values);
    case FieldType::scalar:
      return with_scalar(schema, record, i, [](auto value) { return number_json(value); });
    default:
      return {{"num_bytes", record.raw(i).size()}};
  }
}

std::string image_extension(std::span<const std::byte> image) {
  switch (detect_image_encoding(image)) {
    case ImageEncoding::jpeg:
      return ".jpg";
    case ImageEncoding::png:
      return ".png";
    default:
      return ".bin";
  }
}

FieldFile field_file(const Schema& schema, const RecordView& record, size_t i) {
  switch (schema.fields[i].type) {
    case FieldType::string:
      return {".txt", record.raw(i), ""};
    case FieldType::image:
      return {image_extension(record.bytes(i)), record.bytes(i), ""};
    case FieldType::tensor:
      return {".npy", {}, npy_file(record.tensor(i))};
    case FieldType::scalar:
      return {".txt", {}, field_text(schema, record, i) + "\n"};
    default:
      return {".bin", record.raw(i), ""};
  }
}

std::string base64(std::span<const std::byte> data) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((data.size() + 2) / 3 * 4);
  for (size_t i = 0; i < data.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < data.size() ? std::to_integer<uint32_t>(data[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += i + k <= data.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

}  // namespace ffkit
