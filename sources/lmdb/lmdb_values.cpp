#include "lmdb/lmdb_values.h"

#include <algorithm>
#include <array>
#include <optional>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/mask.h>

#include "base/make_error.h"
#include "format/content_kind.h"
#include "rows/row_contents.h"

namespace ffkit {
namespace {

LmdbContent content_of(const Datum& datum) {
  if (datum.is_encoded) return LmdbContent::datum_picture;
  if (datum.data.num_bytes == 0) return LmdbContent::datum_floats;
  return datum.channels == 1 || datum.channels == 3 ? LmdbContent::datum_picture
                                                    : LmdbContent::datum_bytes;
}

// Planes [3, height, width] as a PPM, one plane as a grey PNG.
std::span<const std::byte> picture_of_planes(std::span<const std::byte> planes, const Datum& datum,
                                             PlaneOrder order, SampleBuffers& buffers) {
  constexpr int64_t kMostPixels = 1'000'000;  // each way, as of a PNG
  if (datum.width > kMostPixels || datum.height > kMostPixels) {
    throw error_of(ErrorCode::unsupported, "has {} x {} pixels, and at most {} each way are taken",
                   datum.width, datum.height, kMostPixels);
  }
  const int width = static_cast<int>(datum.width);
  const int height = static_cast<int>(datum.height);
  std::vector<std::byte>& picture = buffers.array();
  if (datum.channels == 1) {
    picture = encode_mask_png({.data = planes.data(),
                               .dtype = DType::u8,
                               .width = width,
                               .height = height,
                               .stride = width});
    return picture;
  }
  const size_t num_pixels = planes.size() / 3;
  const std::span<std::byte> pixels = buffers.bytes(planes.size());
  for (size_t channel = 0; channel < 3; ++channel) {
    const size_t plane = order == PlaneOrder::bgr ? 2 - channel : channel;
    const std::byte* const from = planes.data() + plane * num_pixels;
    for (size_t i = 0; i < num_pixels; ++i) pixels[3 * i + channel] = from[i];
  }
  encode_ppm({.data = reinterpret_cast<const uint8_t*>(pixels.data()),
              .width = width,
              .height = height,
              .stride = 3 * width},
             picture);
  return picture;
}

}  // namespace

LmdbValueFacts facts_of_lmdb_value(int64_t num_bytes, const DatumBytes& bytes) {
  const auto head = bytes(0, kContentHeadBytes);
  if (begins_as_picture(head)) return {.content = LmdbContent::picture};
  const std::optional<Datum> datum = num_bytes > 0 ? read_datum(num_bytes, bytes) : std::nullopt;
  if (datum && datum->is_whole()) {
    return {.content = content_of(*datum),
            .has_label = datum->label.has_value(),
            .is_raw = !datum->is_encoded};
  }
  if (content_kind(bytes(0, kContentHeadBytes)) == ContentKind::pickle) {
    return {.content = LmdbContent::pickle};
  }
  return {};
}

void set_datum(std::span<const std::byte> message, LmdbContent content, PlaneOrder order,
               RowValue& value, RowValue* label, SampleBuffers& buffers) {
  const DatumBytes bytes = [&](int64_t offset, size_t count) {
    const auto rest = message.subspan(static_cast<size_t>(offset));
    return rest.first(std::min(count, rest.size()));
  };
  std::vector<std::byte>& floats = buffers.array();
  floats.clear();
  const std::optional<Datum> datum = read_datum(std::ssize(message), bytes, &floats);
  if (!datum || !datum->is_whole()) {
    throw Error(ErrorCode::corrupt, "is no Datum of Caffe with as many numbers as its shape says");
  }
  if (content_of(*datum) != content) {
    throw error_of(ErrorCode::corrupt, "is a Datum of {}, and the others are of {}",
                   content_of(*datum) == LmdbContent::datum_picture ? "a picture" : "an array",
                   content == LmdbContent::datum_picture ? "pictures" : "other arrays");
  }
  if (label != nullptr && datum->label) label->set_scalar(*datum->label);
  const auto data = message.subspan(static_cast<size_t>(datum->data.offset),
                                    static_cast<size_t>(datum->data.num_bytes));
  if (datum->is_encoded) return value.set_bytes(data);
  if (content == LmdbContent::datum_picture) {
    return value.set_bytes(picture_of_planes(data, *datum, order, buffers));
  }
  const bool is_floats = content == LmdbContent::datum_floats;
  value.set_tensor({is_floats ? DType::f32 : DType::u8,
                    {datum->channels, datum->height, datum->width},
                    is_floats ? std::span<const std::byte>(floats) : data});
}

}  // namespace ffkit
