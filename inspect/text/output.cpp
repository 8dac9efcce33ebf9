#include "text/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include <nlohmann/json.hpp>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/error.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "base/base64.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_json(const Json& document) {
  write_output("", json_text(document, 2));
}

void print_json_line(const Json& value) {
  write_output("", json_text(value));
}

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::to_string(value));
}

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) != 0;
}

std::string human_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kEscaped = "\t\n\r\\";
  constexpr std::string_view kLetters = "tnr\\";
  std::string result;
  for (const char c : text) {
    if (const size_t at = kEscaped.find(c); at != kEscaped.npos) {
      result += {'\\', kLetters[at]};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string bar(int64_t count, int64_t largest, int width) {
  if (count <= 0 || largest <= 0) return "";
  const double share = static_cast<double>(count) / static_cast<double>(largest);
  return std::string(std::max(1.0, std::round(share * width)), '#');
}

ProgressLine::ProgressLine(std::string what, int64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      line_(TerminalLine::fd_of_terminal(STDERR_FILENO), kInterval) {
  if (line_.is_due()) draw();
}

void ProgressLine::add(int64_t count) {
  done_ += count;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is drawing
  if (line_.is_due()) draw();
}

std::string ProgressLine::text_of(int64_t count) const {
  return unit_.empty() ? human_bytes(count) : with_commas(count) + " " + unit_;
}

void ProgressLine::draw() {
  const auto done = static_cast<double>(done_);
  const double share = std::min(1.0, done / static_cast<double>(std::max<int64_t>(1, total_)));
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string line =
      fmt::format("{}  {:3.0f} %  {} of {}", what_, 100 * share,
                  unit_.empty() ? human_bytes(done_) : with_commas(done_), text_of(total_));
  if (seconds > 1 && share > 0) {
    const auto left = static_cast<int64_t>(seconds * (1 - share) / share);
    line += fmt::format("  {}/s  {}:{:02} left", text_of(static_cast<int64_t>(done / seconds)),
                        left / 60, left % 60);
  }
  line_.draw(line);
}

namespace {

// u8 .. f64 print as themselves, f16 and bf16 as the float they stand for.
template <typename T>
auto number_to_print(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <typename T>
std::string number_text(T value) {
  return fmt::to_string(number_to_print(value));
}

template <typename T>
Json number_json(T value) {
  const auto number = number_to_print(value);
  if constexpr (std::is_same_v<decltype(number), const float>) {
    // The shortest decimal that is this float: 0.1, not 0.10000000149011612.
    return json_number(std::strtod(fmt::to_string(number).c_str(), nullptr));
  } else if constexpr (std::is_same_v<decltype(number), const double>) {
    return json_number(number);
  } else {
    return number;
  }
}

// Calls `function` with the scalar as a C++ number.
template <typename Function>
auto with_scalar(const Field& field, const FieldView& view, Function function) {
  return visit_dtype(field.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const uint64_t bits = view.scalar_bits(field.dtype);
    return function(load_number<T>(reinterpret_cast<const std::byte*>(&bits)));
  });
}

// Calls `function` with a field for every item of the list.
template <typename Function>
void for_each_item(const Field& field, const ListView& list, Function function) {
  const Field item{.type = field.item, .dtype = field.dtype};
  for (size_t i = 0; i < list.size(); ++i) {
    switch (field.item) {
      case FieldType::string:
        function(item, std::as_bytes(std::span(list.string(i))), TensorView());
        break;
      case FieldType::tensor:
        function(item, std::span<const std::byte>(), list.tensor(i));
        break;
      default:
        function(item, list.bytes(i), TensorView());
    }
  }
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

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string image_text(std::span<const std::byte> image) {
  try {
    const ImageInfo info = read_image_info(image);
    return fmt::format("{} {} x {}, {} bytes", to_string(info.encoding), info.width, info.height,
                       image.size());
  } catch (const Error&) {
    return fmt::format(
        "{} bytes that are not a {}", image.size(),
        detect_image_encoding(image) == ImageEncoding::unknown ? "known image" : "readable image");
  }
}

Json bytes_json(std::span<const std::byte> bytes, Detail detail) {
  Json json = {{"num_bytes", bytes.size()}};
  if (detail == Detail::content) json["base64"] = base64(as_text(bytes));
  return json;
}

Json image_json(std::span<const std::byte> image, Detail detail) {
  Json json = {{"num_bytes", image.size()},
               {"encoding", to_string(detect_image_encoding(image))},
               {"width", nullptr},
               {"height", nullptr}};
  if (detail == Detail::content) {
    std::vector<std::byte> jpeg;
    json["base64"] = base64(as_text(image_file(image, jpeg)));
  }
  try {
    const ImageInfo info = read_image_info(image);
    json["width"] = info.width;
    json["height"] = info.height;
  } catch (const Error&) {  // nothing to add: null says that the header cannot be read
    return json;
  }
  return json;
}

std::string tensor_text(const TensorView& tensor, size_t max_values) {
  std::string text = fmt::format("{} [{}]", to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
  const size_t count = tensor.data.size() / size_of(tensor.dtype);
  if (max_values == 0 || count > max_values) return text;
  std::vector<std::string> numbers;
  for_each_value(tensor, [&](auto value) { numbers.push_back(number_text(value)); });
  return fmt::format("{}: {}", text, fmt::join(numbers, ", "));
}

Json tensor_json(const TensorView& tensor, Detail detail) {
  Json json = {{"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape}};
  if (detail != Detail::sizes) {
    Json& list = json["values"] = Json::array();
    for_each_value(tensor, [&](auto value) { list.push_back(number_json(value)); });
  }
  return json;
}

// What fields that are no scalars or lists and items of lists have in common; `tensor` counts for
// tensors, `bytes` for the others.
std::string content_text(FieldType type, std::span<const std::byte> bytes, const TensorView& tensor,
                         size_t max_values) {
  switch (type) {
    case FieldType::string:
      return escaped(as_text(bytes));
    case FieldType::image:
      return image_text(bytes);
    case FieldType::tensor:
      return tensor_text(tensor, max_values);
    default:
      return fmt::format("{} bytes", bytes.size());
  }
}

Json content_json(FieldType type, std::span<const std::byte> bytes, const TensorView& tensor,
                  Detail detail) {
  switch (type) {
    case FieldType::string:
      return as_text(bytes);
    case FieldType::image:
      return image_json(bytes, detail);
    case FieldType::tensor:
      return tensor_json(tensor, detail);
    default:
      return bytes_json(bytes, detail);
  }
}

FieldFile content_file(FieldType type, std::span<const std::byte> bytes, const TensorView& tensor) {
  switch (type) {
    case FieldType::string:
      return {".txt", bytes, ""};
    case FieldType::image:
      return {image_extension(bytes), bytes, "", true};
    case FieldType::tensor:
      return {".npy", {}, npy_file(tensor)};
    default:
      return {".bin", bytes, ""};
  }
}

std::string list_text(const Field& field, const ListView& list, size_t max_values) {
  std::string text = fmt::format("{} {}", list.size(), list.size() == 1 ? "item" : "items");
  if (list.size() == 0 || list.size() > max_values) return text;
  const char* separator = ": ";
  for_each_item(field, list, [&](const Field& item, auto bytes, const TensorView& tensor) {
    text += separator + content_text(item.type, bytes, tensor, max_values);
    separator = "; ";
  });
  return text;
}

TensorView tensor_of(const Field& field, const FieldView& view) {
  return field.type == FieldType::tensor ? view.tensor() : TensorView();
}

std::string numpy_dtype(DType dtype) {
  if (dtype == DType::bf16) return "<f4";
  const char kind = is_integer(dtype) ? to_string(dtype).front() : 'f';  // "u8" is NumPy's "u1"
  return fmt::format("{}{}{}", size_of(dtype) == 1 ? '|' : '<', kind, size_of(dtype));
}

}  // namespace

std::string describe_field(const Field& field) {
  std::string text = fmt::format("{} {}", escaped(field.name), to_string(field.type));
  if (field.type == FieldType::list) text += fmt::format(" of {}", to_string(field.item));
  if (has_dtype(field)) text += fmt::format(" {}", to_string(field.dtype));
  return text + (field.column ? ", column" : "");
}

Json field_description_json(const Field& field) {
  Json json = {{"name", field.name}, {"type", to_string(field.type)}};
  if (field.type == FieldType::list) json["item"] = to_string(field.item);
  if (has_dtype(field)) json["dtype"] = to_string(field.dtype);
  json["column"] = field.column;
  return json;
}

std::string field_text(const Field& field, const FieldView& view, size_t max_values) {
  if (view.is_null()) return "null";
  if (field.type == FieldType::list) return list_text(field, view.list(), max_values);
  if (field.type == FieldType::scalar) {
    return with_scalar(field, view, [](auto value) { return number_text(value); });
  }
  return content_text(field.type, view.raw(), tensor_of(field, view), max_values);
}

Json field_json(const Field& field, const FieldView& view, Detail detail) {
  if (view.is_null()) return nullptr;
  if (field.type == FieldType::list) {
    Json items = Json::array();
    for_each_item(field, view.list(), [&](const Field& item, auto bytes, const TensorView& tensor) {
      items.push_back(content_json(item.type, bytes, tensor, detail));
    });
    return items;
  }
  if (field.type == FieldType::scalar) {
    return with_scalar(field, view, [](auto value) { return number_json(value); });
  }
  return content_json(field.type, view.raw(), tensor_of(field, view), detail);
}

std::span<const std::byte> image_file(std::span<const std::byte> image,
                                      std::vector<std::byte>& jpeg) {
  if (!is_dct_picture(image)) return image;
  jpeg = decode_dct_to_jpeg(image);
  return jpeg;
}

constexpr EnumName<ImageEncoding> kExtensions[] = {
    {ImageEncoding::jpeg, ".jpg"},   {ImageEncoding::dct, ".jpg"}, {ImageEncoding::png, ".png"},
    {ImageEncoding::webp, ".webp"},  {ImageEncoding::bmp, ".bmp"}, {ImageEncoding::ppm, ".ppm"},
    {ImageEncoding::unknown, ".bin"}};
std::string image_extension(std::span<const std::byte> image) {
  return std::string(name_of(kExtensions, detect_image_encoding(image)));
}

std::vector<FieldFile> field_files(const Schema& schema, const RecordView& record, size_t i) {
  const Field& field = schema.fields[i];
  const FieldView view = record.field(i);
  std::vector<FieldFile> files;
  if (view.is_null()) return files;
  if (field.type == FieldType::list) {
    for_each_item(field, view.list(), [&](const Field& item, auto bytes, const TensorView& tensor) {
      FieldFile file = content_file(item.type, bytes, tensor);
      file.suffix = fmt::format("/{}{}", files.size(), file.suffix);
      files.push_back(std::move(file));
    });
  } else if (field.type == FieldType::scalar) {
    files.push_back({".txt", {}, field_text(field, view) + "\n"});
  } else {
    files.push_back(content_file(field.type, view.raw(), tensor_of(field, view)));
  }
  return files;
}

void append_numbers(DType dtype, std::span<const std::byte> data, std::string& out) {
  if (dtype != DType::bf16) {
    out.append(reinterpret_cast<const char*>(data.data()), data.size());
    return;
  }
  for (size_t at = 0; at < data.size(); at += sizeof(BFloat16)) {
    const auto value = static_cast<float>(load_number<BFloat16>(data.data() + at));
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
}

std::string npy_file(const TensorView& tensor) {
  std::string shape;
  for (const int64_t size : tensor.shape) shape += fmt::format("{},", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   numpy_dtype(tensor.dtype), shape);
  // Magic, version, length of the header and the header are together a multiple of 64 bytes, the
  // last one a line end.
  constexpr size_t kBefore = 10;
  header.append(63 - (kBefore + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  append_numbers(tensor.dtype, tensor.data, file);
  return file;
}

std::string json_array_of(const Field& field, const ListView& list) {
  nlohmann::json texts = nlohmann::json::array();
  for (size_t i = 0; i < list.size(); ++i) texts.push_back(list.string(i));
  try {
    return texts.dump();
  } catch (const nlohmann::json::type_error&) {
    throw error_of(
        ErrorCode::unsupported,
        "field '{}' has an item that is not UTF-8 text, which JSON cannot hold; leave the "
        "field out with --fields",
        field.name);
  }
}

}  // namespace ffkit
