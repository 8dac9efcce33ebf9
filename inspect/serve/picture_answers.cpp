#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_resizer.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "draw/contact_sheet.h"
#include "image/codec/mask_decoder.h"
#include "serve/site.h"
#include "text/output.h"
#include "views/record_views.h"

namespace ffkit::serve {
namespace {

constexpr int kThumbnailQuality = 85;

// Memory that a worker keeps from picture to picture.
struct PictureTools {
  ImageDecoder decoder;
  ImageResizer resizer;
  JpegEncoder encoder;
  std::vector<std::byte> record;
  std::vector<std::byte> encoded;
};
PictureTools& picture_tools() {
  thread_local PictureTools tools;
  return tools;
}

// Pictures of more pixels are decoded one after another, whoever asks: 16 workers with the largest
// that there may be would take 8 GB.
constexpr int64_t kManyPixels = int64_t{1} << 25;
std::unique_lock<std::mutex> turn_of(std::span<const std::byte> image) {
  static std::mutex mutex;
  const ImageInfo info = read_image_info(image);
  if (int64_t{info.width} * info.height <= kManyPixels) return {};
  return std::unique_lock(mutex);
}

std::optional<size_t> first_picture(const ServedSplit& split) {
  if (split.picture_fields().empty()) return std::nullopt;
  return split.picture_fields().front();
}

// The bytes of one field of a record, which must not be null.
void read_field(const ServedSplit& split, int64_t record, size_t field,
                std::vector<std::byte>& out) {
  const Field& of = split.schema().fields[field];
  if (of.type != FieldType::image && of.type != FieldType::bytes) {
    throw error_of(ErrorCode::invalid_argument, "the field '{}' has no pictures; its type is {}",
                   of.name, to_string(of.type));
  }
  if (!split.whole().read_field(record, field, out)) {
    throw error_of(ErrorCode::not_found, "the field '{}' of record {} is null", of.name, record);
  }
}

// The record as it is drawn: with boxes, joints, a mask and what was found.
SheetEntry marked_entry(const ServedSplit& split, int64_t number, size_t field,
                        const http::Request& request) {
  const Dataset& dataset = split.whole();
  std::vector<std::byte>& bytes = picture_tools().record;
  dataset.read(number, bytes);
  const RecordView record(split.schema(), bytes, dataset.name(number));
  SheetEntry entry;
  const auto image = record.bytes(field);
  entry.image.assign(image.begin(), image.end());
  if (!request.text("mask").empty()) {
    const size_t mask_field = split.schema().require(request.text("mask"));
    if (!record.is_null(mask_field)) {
      const auto mask = record.bytes(mask_field);
      entry.mask.assign(mask.begin(), mask.end());
    }
  }
  if (request.flag("marks")) add_marks(split, number, record, entry);
  return entry;
}

// The picture of tools.record, made smaller until it fits `size` x `size`. It lives until the next
// use of the tools.
RgbView plain_thumbnail(PictureTools& tools, int size) {
  const ImageInfo info = tools.decoder.read_info(tools.record);
  const int longest = std::max(info.width, info.height);
  const auto side = [&](int pixels) {
    if (longest <= size) return pixels;
    return std::max(1, static_cast<int>(std::lround(double(pixels) * size / longest)));
  };
  const int width = side(info.width);
  const int height = side(info.height);
  const ImageDecoder::Region region =
      tools.decoder.read_region({0, 0, info.width, info.height}, width, height);
  if (region.pixels.width == width && region.pixels.height == height) return region.pixels;
  return tools.resizer.resize(region.pixels, width, height);
}

// Empty of what browsers do not show as it is.
std::string content_type_of(std::span<const std::byte> image) {
  const std::string_view encoding = to_string(detect_image_encoding(image));
  return has_word("jpeg png webp bmp", encoding) ? fmt::format("image/{}", encoding) : "";
}

// Colours on clear ground, where 0 is the ground.
std::vector<std::byte> colored_mask(const MaskView& mask) {
  std::vector<uint8_t> rgba(4 * static_cast<size_t>(mask.width) * static_cast<size_t>(mask.height));
  uint8_t* out = rgba.data();
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x, out += 4) {
      const int64_t number = mask_number(mask, x, y);
      if (number == 0) continue;
      const Color color = color_of_mask(number);
      std::ranges::copy(color, out);
      out[3] = 255;
    }
  }
  return encode_rgba_png(rgba, mask.width, mask.height);
}

// The picture of the request, which `split` has a record of; a problem is in the picture.
RecordPicture one_view(SiteState& state, const ServedSplit& split, const http::Request& request) {
  const int64_t record = ServedSet::record_of(split, request);
  const size_t field = field_of(split, request, "field", first_picture(split));
  const std::string text = request.text("transform", state.set.run.text);
  if (text.empty()) {
    throw Error(ErrorCode::invalid_argument, "the parameter 'transform' is missing");
  }
  const std::string& name = split.schema().fields[field].name;
  const ViewRequest wanted{.image_field = name,
                           .mask_field = request.text("mask"),
                           .wanted = parse_view_texts({text}, name),
                           .seed = static_cast<uint64_t>(
                               request.number("seed", 0, 0, std::numeric_limits<int64_t>::max())),
                           .first_epoch = request.number("draw", 0, 0, 1'000'000),
                           .num_epochs = 1};
  RecordPicture picture = std::move(decode_views(split.whole(), {record}, wanted).front().front());
  picture.view = nullptr;  // it was of `wanted`
  return picture;
}

}  // namespace

void add_marks(const ServedSplit& split, int64_t number, const RecordView& record,
               SheetEntry& entry) {
  entry.boxes = marked_boxes(split.whole(), record);
  entry.points = marked_joints(split.schema(), record);
  const std::vector<SheetPoint> keypoints = marked_keypoints(split.schema(), record);
  entry.points.insert(entry.points.end(), keypoints.begin(), keypoints.end());
  if (split.findings) split.findings->mark(number, entry);
}

http::Response answer_thumbnail(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const int64_t record = ServedSet::record_of(split, request);
  const size_t field = field_of(split, request, "field", first_picture(split));
  const auto size = static_cast<int>(request.number("size", 160, 16, 1024));
  PictureTools& tools = picture_tools();
  if (request.flag("marks") || !request.text("mask").empty()) {
    const SheetEntry entry = marked_entry(split, record, field, request);
    const auto turn = turn_of(entry.image);
    const Canvas canvas = draw_entry(tools.decoder, entry, size);
    if (turn) tools.decoder = ImageDecoder();  // its memory is large now
    tools.encoder.encode(canvas.view(), kThumbnailQuality, tools.encoded);
  } else {
    read_field(split, record, field, tools.record);
    const auto turn = turn_of(tools.record);
    tools.encoder.encode(plain_thumbnail(tools, size), kThumbnailQuality, tools.encoded);
    if (turn) tools.decoder = ImageDecoder();
  }
  return kept_response("image/jpeg", tools.encoded);
}

http::Response answer_picture(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const int64_t record = ServedSet::record_of(split, request);
  const size_t field = field_of(split, request, "field", first_picture(split));
  PictureTools& tools = picture_tools();
  read_field(split, record, field, tools.record);
  std::vector<std::byte> jpeg;
  const std::span<const std::byte> image = image_file(tools.record, jpeg);
  const std::string type = content_type_of(image);
  if (!type.empty()) return kept_response(type, image);
  const auto turn = turn_of(image);
  http::Response response = kept_response("image/png", encode_png(tools.decoder.decode(image)));
  if (turn) tools.decoder = ImageDecoder();
  return response;
}

http::Response answer_mask(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const int64_t record = ServedSet::record_of(split, request);
  const size_t field = field_of(split, request, "field", std::nullopt);
  PictureTools& tools = picture_tools();
  read_field(split, record, field, tools.record);
  const bool has_colors = read_image_info(tools.record).num_components == 3;
  MaskDecoder decoder;
  const MaskView mask =
      decoder.decode(tools.record, has_colors ? MaskNumbers::panoptic : MaskNumbers::values);
  return kept_response("image/png", colored_mask(mask));
}

http::Response answer_view(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const RecordPicture picture = one_view(state, split, request);
  if (!picture.problem.empty()) throw Error(ErrorCode::corrupt, picture.problem);
  SheetEntry entry;
  draw_into(split.whole(), picture, entry);
  PictureTools& tools = picture_tools();
  if (!request.flag("marks"))
    return kept_response("image/png", encode_png(tools.decoder.decode(entry.image)));
  const auto size = static_cast<int>(std::max(picture.size.width, picture.size.height));
  return kept_response("image/png", encode_png(draw_entry(tools.decoder, entry, size).view()));
}

http::Response answer_view_facts(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const RecordPicture picture = one_view(state, split, request);
  Json boxes = Json::array();
  if (picture.boxes) {
    for (const auto& [edges, label] : *picture.boxes) {
      boxes.push_back({{"left", edges[0]},
                       {"top", edges[1]},
                       {"right", edges[2]},
                       {"bottom", edges[3]},
                       {"label", label}});
    }
  }
  const ViewMatrix& m = picture.geometry;
  return json_response({{"width", picture.size.width},
                        {"height", picture.size.height},
                        {"geometry", {{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}}},
                        {"boxes", boxes},
                        {"problem", picture.problem}});
}

}  // namespace ffkit::serve
