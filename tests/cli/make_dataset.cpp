// Data sets that ffconvert does not make, one split 'train' in FOLDER:
//
//   make_dataset types FOLDER              a field of every type and dtype, five records, the last
//                                          one all null
//   make_dataset zstd FOLDER               the same, compressed
//   make_dataset pictures FOLDER CLASS,CLASS,... LABEL:KIND:ID...
//       image classification, one record an argument; KIND is jpeg, png, junk or null, an empty
//         LABEL or ID is null
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/image/image_codec.h>

#include "test_images.h"

namespace ffkit {
namespace {

constexpr DType kDTypes[] = {DType::u8,  DType::i8,   DType::u16, DType::i16,
                             DType::u32, DType::i32,  DType::u64, DType::i64,
                             DType::f16, DType::bf16, DType::f32, DType::f64};

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> picture(const std::string& kind, int number) {
  const auto pixels = testing::make_picture(48 + number, 32, static_cast<uint32_t>(number));
  if (kind == "jpeg") return encode_jpeg(pixels.view());
  if (kind == "png") return encode_png(pixels.view());
  return to_bytes("this is not a picture");
}

std::vector<std::string> split_text(const std::string& text, char separator, size_t max_parts) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (parts.size() + 1 < max_parts && text.find(separator, begin) != std::string::npos) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

class Writer {
 public:
  Writer(const std::string& folder, Schema schema, std::vector<std::string> classes, int level = 0)
      : writer_(prepared(folder), manifest(std::move(schema), std::move(classes)),
                {.compression = {.level = level}}) {}

  void append(RecordBuilder& builder) {
    builder.encode(record_);
    writer_.append(record_);
  }
  void finish() { writer_.finish(); }

 private:
  static std::filesystem::path prepared(const std::string& folder) {
    std::filesystem::create_directories(folder);
    return std::filesystem::path(folder) / "train";
  }
  static Manifest manifest(Schema schema, std::vector<std::string> classes) {
    Manifest result;
    result.split = "train";
    result.schema = std::move(schema);
    for (const std::string& name : classes) result.class_names.push_back("the " + name);
    result.classes = std::move(classes);
    result.created_by = "make_dataset";
    return result;
  }

  DatasetWriter writer_;
  std::vector<std::byte> record_;
};

// Sets scalar `field` to about `number`; f16 and bf16 to 1, f64 once to what is not a number.
void set_number(RecordBuilder& builder, size_t field, DType dtype, int number) {
  switch (dtype) {
    case DType::u8:
      return builder.set_scalar(field, static_cast<uint8_t>(number));
    case DType::i8:
      return builder.set_scalar(field, static_cast<int8_t>(number));
    case DType::i16:
      return builder.set_scalar(field, static_cast<int16_t>(number));
    case DType::u32:
      return builder.set_scalar(field, static_cast<uint32_t>(number));
    case DType::i32:
      return builder.set_scalar(field, number);
    case DType::u64:
      return builder.set_scalar(field, ~uint64_t{0} - static_cast<uint64_t>(number));
    case DType::i64:
      return builder.set_scalar(field, int64_t{-5'000'000'000} + number);
    case DType::f32:
      return builder.set_scalar(field, 0.1F + static_cast<float>(number));
    case DType::f64:
      return builder.set_scalar(field, number == 3 ? std::nan("") : 0.25 + number);
    case DType::f16:
      return builder.set_scalar_bits(field, dtype, 0x3C00);
    case DType::bf16:
      return builder.set_scalar_bits(field, dtype, 0x3F80);
    case DType::u16:
      return builder.set_scalar(field, static_cast<uint16_t>(number));
  }
}

void make_types(const std::string& folder, int level) {
  Schema schema{{{"cam_front/image", FieldType::image},
                 {"blob", FieldType::bytes},
                 {"note", FieldType::string, DType::u8, true},
                 {"lidar", FieldType::tensor, DType::f32},
                 {"weights", FieldType::tensor, DType::bf16},
                 {"tags", FieldType::list, DType::u8, false, FieldType::string},
                 {"crops", FieldType::list, DType::u8, false, FieldType::image},
                 {"boxes", FieldType::list, DType::i16, false, FieldType::tensor}}};
  const size_t num_others = schema.fields.size();
  for (const DType dtype : kDTypes) {
    schema.fields.push_back(
        {fmt::format("n/{}", to_string(dtype)), FieldType::scalar, dtype, true});
  }
  Writer writer(folder, schema, {}, level);
  RecordBuilder builder(schema);
  for (int i = 0; i < 4; ++i) {
    const auto image = picture(i == 3 ? "junk" : "jpeg", i);
    const auto blob = to_bytes(std::string("\0\xff blob", 7) + std::to_string(i));
    const float lidar[] = {1.5F, -2, 0.1F, static_cast<float>(i), 1e30F, 7};
    const uint16_t weights[] = {0x3F80, 0xC049};  // 1, -3.140625
    builder.set_bytes(0, image);
    builder.set_bytes(1, blob);
    builder.set_string(2, i == 1 ? "tab\there" : "gr\xc3\xbc\xc3\x9f dich");
    builder.set_tensor(3, {DType::f32, {2, 3}, std::as_bytes(std::span(lidar))});
    builder.set_tensor(4, {DType::bf16, {2}, std::as_bytes(std::span(weights))});
    const std::string_view tags[] = {"red", "tab\there"};
    builder.set_list(5, std::span(tags).first(static_cast<size_t>(i) % 3));
    const std::span<const std::byte> crops[] = {image, image};
    builder.set_list(6, crops);
    const int16_t box[] = {-1, 2, 3, 4};
    const TensorView boxes[] = {{DType::i16, {2, 2}, std::as_bytes(std::span(box))}};
    builder.set_list(7, boxes);
    for (size_t f = num_others; f < schema.fields.size(); ++f) {
      set_number(builder, f, schema.fields[f].dtype, i);
    }
    writer.append(builder);
  }
  writer.append(builder);  // nothing set: all null
  writer.finish();
}

void make_pictures(const std::string& folder, const std::string& classes,
                   const std::vector<std::string>& records) {
  const Schema schema = image_classification_schema();
  Writer writer(folder, schema, split_text(classes, ',', 1000));
  RecordBuilder builder(schema);
  int number = 0;
  for (const std::string& record : records) {
    const std::vector<std::string> parts = split_text(record, ':', 3);
    const auto image = picture(parts.at(1), number++);
    if (parts[1] != "null") builder.set_bytes(schema.require("image"), image);
    if (!parts[0].empty()) {
      builder.set_scalar(schema.require("label"), int64_t{std::stol(parts[0])});
    }
    if (!parts.at(2).empty()) builder.set_string(schema.require("id"), parts[2]);
    writer.append(builder);
  }
  writer.finish();
}

}  // namespace
}  // namespace ffkit

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.size() == 2 && (args[0] == "types" || args[0] == "zstd")) {
      ffkit::make_types(args[1], args[0] == "zstd" ? 3 : 0);
    } else if (args.size() > 3 && args[0] == "pictures") {
      ffkit::make_pictures(args[1], args[2], {args.begin() + 3, args.end()});
    } else {
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_dataset: %s\n", error.what());
    return 1;
  }
  return 0;
}
