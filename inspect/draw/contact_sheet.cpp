#include "draw/contact_sheet.h"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "base/printable.h"
#include "data/data_sets.h"
#include "format/schema/label_field.h"
#include "image/codec/mask_decoder.h"

namespace ffkit {
namespace {

constexpr Color kSheetBlack = {0, 0, 0};
constexpr Color kPaper = {240, 240, 240};  // beside pictures that are not square
constexpr Color kRed = {200, 40, 40};
constexpr Color kJoint = {30, 220, 60};
constexpr Color kHiddenJoint = {150, 150, 150};
constexpr int kSheetMargin = 8;

struct SheetLayout {
  int line_height = kSmallText;  // of text
  int columns = 0;
  int rows = 0;
  int cell_width = 0;
  int cell_height = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

SheetLayout make_layout(const std::string& title, int count, size_t num_lines,
                        const SheetOptions& options) {
  SheetLayout layout;
  layout.line_height = kSmallText * std::max(1, options.size / 160);
  layout.columns = std::clamp(options.columns, 1, count);
  layout.rows = (count + layout.columns - 1) / layout.columns;
  layout.cell_width = options.size + kSheetMargin;
  layout.cell_height =
      options.size + kSheetMargin + static_cast<int>(num_lines) * layout.line_height + 6;
  layout.top = 2 * kSheetMargin + layout.line_height;
  const int64_t width = std::max<int64_t>(int64_t{layout.columns} * layout.cell_width,
                                          text_width(title, layout.line_height)) +
                        kSheetMargin;
  const int64_t height = layout.top + int64_t{layout.rows} * layout.cell_height;
  if (width * height > ImageDecoder::max_pixels()) {
    throw error_of(ErrorCode::invalid_argument,
                   "a sheet of {} x {} pixels is too large; take fewer samples or make them "
                   "smaller with --size",
                   width, height);
  }
  layout.width = static_cast<int>(width);
  layout.height = static_cast<int>(height);
  return layout;
}

// The largest rectangle of the picture's shape in the box, in its middle.
Rect fit(int width, int height, const Rect& box) {
  const double scale = std::min(double(box.width) / width, double(box.height) / height);
  const int w = std::clamp(static_cast<int>(std::lround(width * scale)), 1, box.width);
  const int h = std::clamp(static_cast<int>(std::lround(height * scale)), 1, box.height);
  return {box.x + (box.width - w) / 2, box.y + (box.height - h) / 2, w, h};
}

// Colours that differ from each other, by the number of a class.
Color color_of_box(int64_t class_number) {
  constexpr std::array<Color, 8> kClassColors = {{{230, 60, 60},
                                                  {40, 110, 240},
                                                  {30, 150, 60},
                                                  {240, 140, 20},
                                                  {160, 60, 200},
                                                  {0, 160, 170},
                                                  {220, 60, 150},
                                                  {140, 110, 30}}};
  if (class_number < 0) return {90, 90, 90};
  return kClassColors[static_cast<size_t>(class_number) % kClassColors.size()];
}

// `picture` is where `region` of the picture lies on the canvas.
void draw_boxes(Canvas& canvas, const SheetEntry& entry, const Rect& picture, const Rect& region) {
  const double scale_x = double(picture.width) / region.width;
  const double scale_y = double(picture.height) / region.height;
  for (const SheetBox& box : entry.boxes) {
    const double left = picture.x + (box.x - region.x) * scale_x;
    const double top = picture.y + (box.y - region.y) * scale_y;
    const double right = left + box.width * scale_x;
    const double bottom = top + box.height * scale_y;
    const Color color = box.is_prediction ? kPredictionColor : color_of_box(box.class_number);
    canvas.draw_line(picture, left, top, right, top, color);
    canvas.draw_line(picture, left, bottom, right, bottom, color);
    canvas.draw_line(picture, left, top, left, bottom, color);
    canvas.draw_line(picture, right, top, right, bottom, color);
    // Names only where they hide little.
    const int name_width = text_width(box.name, kSmallText);
    if (!box.name.empty() && name_width < right - left && 2 * kSmallText < bottom - top) {
      canvas.fill({int(left) + 1, int(top) + 1, name_width + 2, kSmallText}, kWhite);
      draw_text(canvas, int(left) + 2, int(top) + 1, box.name, kSmallText, color);
    }
  }
}

// Mixes the colours of `mask`, a PNG of numbers, half and half into the picture at `to`, which
// shows `region` of it. 0 leaves the picture as it is.
void draw_mask(Canvas& canvas, std::span<const std::byte> mask, const ImageInfo& info,
               const Rect& to, const Rect& region) {
  const bool has_colors = read_image_info(mask).num_components == 3;
  MaskDecoder decoder;
  const MaskView numbers =
      decoder.decode(mask, has_colors ? MaskNumbers::panoptic : MaskNumbers::values);
  if (numbers.width != info.width || numbers.height != info.height) {
    throw error_of(ErrorCode::corrupt, "the mask has {} x {} pixels, but its picture has {} x {}",
                   numbers.width, numbers.height, info.width, info.height);
  }
  for (int y = 0; y < to.height; ++y) {
    const int row = region.y + static_cast<int>(int64_t{y} * region.height / to.height);
    for (int x = 0; x < to.width; ++x) {
      const int column = region.x + static_cast<int>(int64_t{x} * region.width / to.width);
      const int64_t number = mask_number(numbers, column, row);
      if (number == 0) continue;
      auto& pixel = canvas.pixels().at<cv::Vec3b>(to.y + y, to.x + x);
      const Color color = color_of_mask(number);
      for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>((pixel[c] + color[c]) / 2);
    }
  }
}

struct PointStyle {
  Color color;
  double arm;  // of the cross, in heights of the picture
};

// By SheetPoint::Kind.
constexpr std::array<PointStyle, 4> kPointStyles = {
    {{kJoint, 0.012}, {kHiddenJoint, 0.012}, {kTruthColor, 0.05}, {kPredictionColor, 0.05}}};

void draw_points(Canvas& canvas, const SheetEntry& entry, const Rect& picture, const Rect& region) {
  for (const SheetPoint& point : entry.points) {
    const PointStyle& style = kPointStyles[static_cast<size_t>(point.kind)];
    const double arm = std::max(1.5, style.arm * picture.height);
    const double x = picture.x + (point.x - region.x) * picture.width / region.width;
    const double y = picture.y + (point.y - region.y) * picture.height / region.height;
    canvas.draw_line(picture, x - arm, y, x + arm, y, style.color);
    canvas.draw_line(picture, x, y - arm, x, y + arm, style.color);
  }
}

// What is shown of the picture; all of it where no pixel of it is in the crop.
Rect region_of(const SheetEntry& entry, const ImageInfo& info) {
  const Rect whole{0, 0, info.width, info.height};
  if (!entry.crop) return whole;
  const auto bounded = [](double value, int most) {
    return static_cast<int>(std::clamp(value, 0.0, double(most)));
  };
  const int left = bounded(std::floor(entry.crop->x), info.width);
  const int top = bounded(std::floor(entry.crop->y), info.height);
  const int right = bounded(std::ceil(entry.crop->x + entry.crop->width), info.width);
  const int bottom = bounded(std::ceil(entry.crop->y + entry.crop->height), info.height);
  if (right <= left || bottom <= top) return whole;
  return {left, top, right - left, bottom - top};
}

// Draws `region` of the picture, which `decoder` has read the head of, to `to`.
void draw_region(Canvas& canvas, ImageDecoder& decoder, const SheetEntry& entry,
                 const ImageInfo& info, const Rect& region, const Rect& to) {
  canvas.draw_picture(
      decoder.read_region({region.x, region.y, region.width, region.height}, to.width, to.height),
      to);
  if (!entry.mask.empty()) draw_mask(canvas, entry.mask, info, to, region);
  draw_boxes(canvas, entry, to, region);
  draw_points(canvas, entry, to, region);
}

void draw_picture(Canvas& canvas, ImageDecoder& decoder, SheetEntry& entry, const Rect& box) {
  if (!entry.problem.empty()) return;
  try {
    const ImageInfo info = decoder.read_info(entry.image);
    const Rect region = region_of(entry, info);
    draw_region(canvas, decoder, entry, info, region, fit(region.width, region.height, box));
  } catch (const Error& error) {
    entry.problem = error.text(OptionStyle::command_line);
  }
}

void draw_problem(Canvas& canvas, const std::string& problem, const Rect& box, int line_height) {
  canvas.draw_crossed_box(box, kRed);
  const int width = box.width - 2 * kSheetMargin;
  const auto max_lines = std::max(1, (box.height - 2 * kSheetMargin) / line_height);
  int y = box.y + kSheetMargin;
  for (const std::string& line :
       wrap_text(problem, width, line_height, static_cast<size_t>(max_lines))) {
    canvas.fill({box.x + kSheetMargin - 2, y - 1, text_width(line, line_height) + 3, line_height},
                kPaper);
    draw_text(canvas, box.x + kSheetMargin, y, line, line_height, kRed);
    y += line_height;
  }
}

}  // namespace

void check_sheet_size(const std::string& title, int64_t num_entries, const SheetOptions& options) {
  constexpr int64_t kMost = int64_t{1} << 24;  // beyond that, their number is the sheet's fault
  make_layout(title, static_cast<int>(std::min(num_entries, kMost)), 0, options);
}

Canvas make_contact_sheet(const std::string& title, std::vector<SheetEntry>& entries,
                          const SheetOptions& options) {
  size_t num_lines = 0;
  for (const SheetEntry& entry : entries) num_lines = std::max(num_lines, entry.lines.size());
  const SheetLayout layout =
      make_layout(title, static_cast<int>(entries.size()), num_lines, options);
  Canvas canvas(layout.width, layout.height, kWhite);
  draw_text(canvas, kSheetMargin, kSheetMargin, title, layout.line_height, kSheetBlack);
  tbb::enumerable_thread_specific<ImageDecoder> decoders;
  tbb::parallel_for(size_t{0}, entries.size(), [&](size_t i) {
    SheetEntry& entry = entries[i];
    const int column = static_cast<int>(i) % layout.columns;
    const int row = static_cast<int>(i) / layout.columns;
    const Rect box{kSheetMargin + column * layout.cell_width, layout.top + row * layout.cell_height,
                   options.size, options.size};
    canvas.fill(box, kPaper);
    draw_picture(canvas, decoders.local(), entry, box);
    if (!entry.problem.empty()) draw_problem(canvas, entry.problem, box, layout.line_height);
    int y = box.y + box.height + 3;
    for (const std::string& text : entry.lines) {
      for (const std::string& line : wrap_text(text, box.width, layout.line_height, 1)) {
        draw_text(canvas, box.x, y, line, layout.line_height, kSheetBlack);
      }
      y += layout.line_height;
    }
  });
  return canvas;
}

Canvas draw_entry(ImageDecoder& decoder, const SheetEntry& entry, int size) {
  const ImageInfo info = decoder.read_info(entry.image);
  const Rect region = region_of(entry, info);
  const int side = std::min(size, std::max(region.width, region.height));
  Rect to = fit(region.width, region.height, {0, 0, side, side});
  to.x = 0;
  to.y = 0;
  Canvas canvas(to.width, to.height, kPaper);
  draw_region(canvas, decoder, entry, info, region, to);
  return canvas;
}

int64_t mask_number(const MaskView& mask, int x, int y) {
  const ptrdiff_t at = y * mask.stride + x;
  if (mask.dtype == DType::u8) return static_cast<const uint8_t*>(mask.data)[at];
  if (mask.dtype == DType::u16) return static_cast<const uint16_t*>(mask.data)[at];
  return static_cast<const int32_t*>(mask.data)[at];
}

Color color_of_mask(int64_t number) {
  Color color = {0, 0, 0};
  for (int shift = 7; shift >= 0; --shift, number >>= 3) {
    for (size_t c = 0; c < 3; ++c) {
      color[c] = static_cast<uint8_t>(color[c] | ((number >> c & 1) << shift));
    }
  }
  return color;
}

namespace {

using Json = nlohmann::ordered_json;

bool is_prediction(const Json& json) {
  return json.is_object() && json.contains("record") && json["record"].is_number_integer() &&
         json.contains("class") && json["class"].is_string() && json.contains("score") &&
         json["score"].is_number();
}

Json parse(const std::string& line) {
  return Json::parse(line, nullptr, /*allow_exceptions=*/false);
}

std::vector<std::string> ids_of(const Dataset& split) {
  const int at = split.schema().index_of("id");
  if (at < 0) return {};
  const Field& field = split.schema().fields[at];
  if (field.type != FieldType::string || !field.column) return {};
  return split.string_column("id");
}

}  // namespace

bool ClassResults::can_be(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) && is_prediction(parse(line));
}

ClassResults::ClassResults(const Dataset& split, const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw error_at(file, ErrorCode::not_found, "cannot be opened");
  const std::vector<std::string> ids = ids_of(split);
  const Manifest& manifest = split.manifest();
  for (size_t i = 0; i < manifest.class_names.size(); ++i) {
    readable_.emplace(manifest.classes[i], manifest.class_names[i]);
  }
  const auto label_field = find_label_field(split.schema());
  const bool has_labels = label_field && split.schema().fields[*label_field].column;
  const std::vector<int64_t> labels =
      has_labels ? split.int_column("label") : std::vector<int64_t>();
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const Json json = parse(line);
    if (!is_prediction(json)) {
      throw error_at(file, ErrorCode::corrupt,
                     "line {} has no record, class and score of a picture", number);
    }
    const auto record = json["record"].get<int64_t>();
    const bool is_of_split = record >= 0 && record < split.num_records();
    const std::string id = json.value("id", std::string());
    if (!is_of_split || (!ids.empty() && !id.empty() && ids[record] != id)) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "line {} names record {}, '{}', which {} does not have; give the split that "
                     "was predicted",
                     number, record, printable(id), split.path().string());
    }
    const Json label = json.value("label", Json());
    Found found{.name = json["class"].get<std::string>(),
                .label = label.is_string() ? label.get<std::string>() : "",
                .score = json["score"].get<double>()};
    const std::string own = has_labels ? class_of(manifest, labels[record]) : "";
    if (!own.empty()) {
      if (!found.label.empty() && found.label != own) ++num_other_labels_;
      found.label = own;
    }
    if (json.contains("loss") && json["loss"].is_number()) found.loss = json["loss"].get<double>();
    if (!found_.emplace(record, std::move(found)).second) {
      throw error_at(file, ErrorCode::corrupt, "line {}: record {} appears a second time", number,
                     record);
    }
    records_.push_back(record);
  }
}

std::vector<int64_t> ClassResults::wrong() const {
  std::vector<int64_t> out;
  for (const int64_t record : records_) {
    const Found& found = found_.at(record);
    if (!found.label.empty() && found.label != found.name) out.push_back(record);
  }
  std::ranges::stable_sort(
      out, [&](int64_t a, int64_t b) { return found_.at(a).score > found_.at(b).score; });
  return out;
}

const ClassResults::Found* ClassResults::find(int64_t record) const {
  const auto found = found_.find(record);
  return found == found_.end() ? nullptr : &found->second;
}

void ClassResults::add(int64_t record, SheetEntry& entry, Json& json) const {
  const Found* found = find(record);
  json["found_class"] = found == nullptr ? Json() : Json(found->name);
  json["score"] = found == nullptr ? Json() : Json(found->score);
  if (found == nullptr) return;
  const auto readable = readable_.find(found->name);
  const bool has_name = readable != readable_.end() && !readable->second.empty();
  entry.lines.push_back(fmt::format("found {}, {:.1f} %", has_name ? readable->second : found->name,
                                    100 * found->score));
}

std::string ClassResults::disagreement() const {
  if (num_other_labels_ == 0) return "";
  return fmt::format("{} of {} results have another label than the data set, which has priority",
                     num_other_labels_, records_.size());
}

}  // namespace ffkit
