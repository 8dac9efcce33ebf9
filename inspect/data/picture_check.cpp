#include "data/picture_check.h"

#include <fmt/format.h>

#include <cstring>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

bool is_equal(const RgbView& a, const RgbView& b) {
  if (a.width != b.width || a.height != b.height) return false;
  const auto row_bytes = 3 * static_cast<size_t>(a.width);
  for (int y = 0; y < a.height; ++y) {
    if (std::memcmp(a.data + y * a.stride, b.data + y * b.stride, row_bytes) != 0) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> PictureCheck::check(const ShardReader& shard, int64_t index) {
  std::vector<std::string> problems;
  const Schema& schema = shard.schema();
  const RecordView record(schema, shard.read(index, buffer_, unpacker_));
  const auto check_one = [&](const std::string& name, std::span<const std::byte> image) {
    try {
      check_picture(image);
    } catch (const Error& error) {
      problems.push_back(fmt::format("{}: {}", name, error.text(OptionStyle::command_line)));
    }
  };
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    if (record.is_null(i)) continue;
    if (field.type == FieldType::image) {
      check_one(fmt::format("field '{}'", field.name), record.bytes(i));
    } else if (field.type == FieldType::list && field.item == FieldType::image) {
      const ListView images = record.list(i);
      for (size_t k = 0; k < images.size(); ++k) {
        check_one(fmt::format("item {} of field '{}'", k, field.name), images.bytes(k));
      }
    }
  }
  return problems;
}

void PictureCheck::check_picture(std::span<const std::byte> image) {
  ++num_pictures_;
  const RgbView pixels = decoder_.decode(image);
  if (!is_dct_picture(image)) return;
  ++num_dct_pictures_;
  transcoder_.decode_to_jpeg(image, jpeg_);
  if (!is_equal(pixels, jpeg_decoder_.decode(jpeg_))) {
    throw Error(ErrorCode::corrupt, "the JPEG that is made of its dct code has other pixels");
  }
}

}  // namespace ffkit
