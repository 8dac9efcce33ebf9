#include "draw/canvas.h"

#include <fmt/format.h>
#include <ft2build.h>

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#include FT_FREETYPE_H
#include <utf8proc.h>

#include <iterator>
#include <mutex>
#include <unordered_map>

#include "base/make_error.h"
#include "base/utf8.h"

// In fonts.cpp.
#define FFKIT_FONT(name)                                                 \
  extern "C" const FT_Byte name[] __attribute__((visibility("hidden"))); \
  extern "C" const FT_Byte name##_end[] __attribute__((visibility("hidden")))
FFKIT_FONT(ffkit_dejavu_sans);
FFKIT_FONT(ffkit_unifont);
FFKIT_FONT(ffkit_unifont_upper);  // beyond U+FFFF

namespace ffkit {
namespace {

cv::Scalar scalar_of(Color color) {
  return {double(color[0]), double(color[1]), double(color[2])};
}

// The part of a line that lies within `rect`; false where there is none, or an end is not finite.
bool clip_line(const Rect& rect, double& x0, double& y0, double& x1, double& y1) {
  const double dx = x1 - x0;
  const double dy = y1 - y0;
  if (!std::isfinite(x0) || !std::isfinite(y0) || !std::isfinite(dx) || !std::isfinite(dy)) {
    return false;
  }
  // Liang-Barsky: the stretch of the line, 0 .. 1, that lies inside. (cv::clipLine counts in whole
  // pixels, and overflows far outside.)
  double begin = 0;
  double end = 1;
  const auto clip = [&](double from, double step, double low, double high) {
    if (step == 0) return from >= low && from <= high;
    const double a = (low - from) / step;
    const double b = (high - from) / step;
    begin = std::max(begin, std::min(a, b));
    end = std::min(end, std::max(a, b));
    return begin <= end;
  };
  if (!clip(x0, dx, rect.x, rect.x + rect.width - 1) ||
      !clip(y0, dy, rect.y, rect.y + rect.height - 1)) {
    return false;
  }
  x1 = x0 + end * dx;
  y1 = y0 + end * dy;
  x0 += begin * dx;
  y0 += begin * dy;
  return true;
}

}  // namespace

Canvas::Canvas(int width, int height, Color background)
    : pixels_(height, width, CV_8UC3, scalar_of(background)) {}

RgbView Canvas::view() const {
  return {pixels_.data, pixels_.cols, pixels_.rows, static_cast<ptrdiff_t>(pixels_.step[0])};
}

cv::Rect Canvas::within_canvas(const Rect& rect) const {
  return cv::Rect(rect.x, rect.y, rect.width, rect.height) & cv::Rect(0, 0, width(), height());
}

void Canvas::fill(const Rect& rect, Color color) {
  pixels_(within_canvas(rect)).setTo(scalar_of(color));
}

void Canvas::draw_crossed_box(const Rect& rect, Color color) {
  cv::rectangle(pixels_, cv::Rect(rect.x, rect.y, rect.width, rect.height), scalar_of(color));
  const double right = rect.x + rect.width - 1;
  const double bottom = rect.y + rect.height - 1;
  draw_line(rect, rect.x, rect.y, right, bottom, color);
  draw_line(rect, rect.x, bottom, right, rect.y, color);
}

void Canvas::draw_line(const Rect& within, double x0, double y0, double x1, double y1, Color color,
                       int thickness) {
  const cv::Rect inside = within_canvas(within);
  if (inside.empty() ||
      !clip_line({inside.x, inside.y, inside.width, inside.height}, x0, y0, x1, y1)) {
    return;
  }
  constexpr int kShift = 4;  // sixteenths of a pixel
  const auto at = [&](double x, double y) {
    return cv::Point(static_cast<int>(std::lround((x - inside.x) * (1 << kShift))),
                     static_cast<int>(std::lround((y - inside.y) * (1 << kShift))));
  };
  cv::Mat part = pixels_(inside);
  cv::line(part, at(x0, y0), at(x1, y1), scalar_of(color), thickness, cv::LINE_AA, kShift);
}

void Canvas::draw_dashed_line(const Rect& within, double x0, double y0, double x1, double y1,
                              Color color) {
  if (!clip_line(within, x0, y0, x1, y1)) return;
  constexpr double kPeriod = 8;
  constexpr double kDash = 4;
  const double length = std::hypot(x1 - x0, y1 - y0);
  for (double at = 0; at < length; at += kPeriod) {
    const double begin = at / length;
    const double end = std::min(at + kDash, length) / length;
    draw_line(within, x0 + begin * (x1 - x0), y0 + begin * (y1 - y0), x0 + end * (x1 - x0),
              y0 + end * (y1 - y0), color);
  }
}

void Canvas::draw_arrow(const Rect& within, double x0, double y0, double x1, double y1,
                        Color color) {
  draw_line(within, x0, y0, x1, y1, color);
  const double length = std::hypot(x1 - x0, y1 - y0);
  if (!(length > 0) || !std::isfinite(length)) return;
  const double head = std::min(6.0, length);
  const double ux = (x1 - x0) / length * head;
  const double uy = (y1 - y0) / length * head;
  draw_line(within, x1, y1, x1 - ux + uy / 2, y1 - uy - ux / 2, color);
  draw_line(within, x1, y1, x1 - ux - uy / 2, y1 - uy + ux / 2, color);
}

void Canvas::draw_picture(const ImageDecoder::Region& picture, const Rect& to) {
  const RgbView& view = picture.pixels;
  const int left = std::clamp(static_cast<int>(std::lround(picture.x)), 0, view.width - 1);
  const int top = std::clamp(static_cast<int>(std::lround(picture.y)), 0, view.height - 1);
  const int right = static_cast<int>(std::lround(picture.x + picture.width));
  const int bottom = static_cast<int>(std::lround(picture.y + picture.height));
  const cv::Rect from(left, top, std::clamp(right - left, 1, view.width - left),
                      std::clamp(bottom - top, 1, view.height - top));
  const bool is_smaller = to.width <= from.width && to.height <= from.height;
  cv::Mat part = pixels_(cv::Rect(to.x, to.y, to.width, to.height));
  cv::resize(as_mat(view)(from), part, part.size(), 0, 0,
             is_smaller ? cv::INTER_AREA : cv::INTER_NEAREST);
}

namespace {

constexpr size_t kMaxGlyphs = 8192;

void check(FT_Error status, const char* what) {
  if (status == 0) return;
  throw error_of(ErrorCode::unsupported, "FreeType could not {}: error {}", what, int{status});
}

struct Face {
  FT_Face face = nullptr;
  bool is_dots = false;  // drawn as dots, 16 to an em
};

// By FreeType. Thread-safe.
class Fonts {
 public:
  Fonts() {
    check(FT_Init_FreeType(&library_), "start");
    faces_ = {open(ffkit_dejavu_sans, ffkit_dejavu_sans_end, false),
              open(ffkit_unifont, ffkit_unifont_end, true),
              open(ffkit_unifont_upper, ffkit_unifont_upper_end, true)};
  }
  Fonts(const Fonts&) = delete;
  Fonts& operator=(const Fonts&) = delete;

  bool has(char32_t character) {
    const std::lock_guard lock(mutex_);
    return find_face(character) != nullptr;
  }

  std::shared_ptr<const Glyph> find(char32_t character, int line_height) {
    const std::lock_guard lock(mutex_);
    const uint64_t key = uint64_t{character} << 32 | static_cast<uint32_t>(line_height);
    const auto found = glyphs_.find(key);
    if (found != glyphs_.end()) return found->second;
    if (glyphs_.size() >= kMaxGlyphs) glyphs_.clear();
    return glyphs_.emplace(key, draw(character, line_height)).first->second;
  }

 private:
  Face open(const FT_Byte* begin, const FT_Byte* end, bool is_dots) {
    Face opened{.is_dots = is_dots};
    check(FT_New_Memory_Face(library_, begin, end - begin, 0, &opened.face), "read a font");
    return opened;
  }

  const Face* find_face(char32_t character) const {
    for (const Face& face : faces_) {
      if (FT_Get_Char_Index(face.face, character) != 0) return &face;
    }
    return nullptr;
  }

  std::shared_ptr<const Glyph> draw(char32_t character, int line_height) {
    auto glyph = std::make_shared<Glyph>();
    const Face* found = find_face(character);
    if (found == nullptr) return glyph;
    FT_Face face = found->face;
    // From the highest letter to the lowest one, DejaVu Sans needs 1.164 em, Unifont 1.
    const int em = found->is_dots ? line_height * 9 / 10 : line_height * 86 / 100;
    check(FT_Set_Pixel_Sizes(face, 0, static_cast<FT_UInt>(em)), "scale a font");
    check(
        FT_Load_Char(face, character,
                     FT_LOAD_RENDER | (found->is_dots ? FT_LOAD_NO_HINTING : FT_LOAD_TARGET_LIGHT)),
        "draw a character");
    const FT_GlyphSlot slot = face->glyph;
    const FT_Bitmap& bitmap = slot->bitmap;
    const int baseline = line_height * 8 / 10;  // of both fonts, so that they stand on one line
    glyph->left = slot->bitmap_left;
    glyph->top = baseline - slot->bitmap_top;
    glyph->width = static_cast<int>(bitmap.width);
    glyph->height = static_cast<int>(bitmap.rows);
    glyph->advance = static_cast<int>((slot->advance.x + 32) >> 6);
    for (int y = 0; y < glyph->height; ++y) {
      const unsigned char* row = bitmap.buffer + ptrdiff_t{y} * bitmap.pitch;
      glyph->coverage.insert(glyph->coverage.end(), row, row + glyph->width);
    }
    return glyph;
  }

  std::mutex mutex_;
  FT_Library library_ = nullptr;
  std::array<Face, 3> faces_{};
  std::unordered_map<uint64_t, std::shared_ptr<const Glyph>> glyphs_{};
};

Fonts& fonts() {
  static Fonts* const all = new Fonts;  // FreeType's memory lives as long as the program
  return *all;
}

// What is drawn for `text`: letters with their accents (Unicode's form C), without the characters
// that are never seen, such as U+200B.
std::u32string drawn_characters(std::string_view text) {
  const std::string valid = with_replacements(text);
  std::vector<utf8proc_int32_t> codes(valid.size() * 4 + 1);  // a character has at most 4 parts
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_IGNORE);
  utf8proc_ssize_t count =
      utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()),
                         static_cast<utf8proc_ssize_t>(valid.size()), codes.data(),
                         static_cast<utf8proc_ssize_t>(codes.size()), options);
  count = utf8proc_normalize_utf32(codes.data(), count, options);
  std::u32string drawn;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    auto character = static_cast<char32_t>(codes[static_cast<size_t>(i)]);
    if (character < 0x20) character += 0x2400;
    if (character == 0x7F) character = 0x2421;
    if (has_glyph(character)) {
      drawn += character;
    } else {
      const std::string code = fmt::format("<U+{:04X}>", uint32_t{character});
      drawn.append(code.begin(), code.end());
    }
  }
  return drawn;
}

bool is_right_to_left(char32_t character) {
  const int bidi_class =
      utf8proc_get_property(static_cast<utf8proc_int32_t>(character))->bidi_class;
  return bidi_class == UTF8PROC_BIDI_CLASS_R || bidi_class == UTF8PROC_BIDI_CLASS_AL;
}

bool is_left_to_right(char32_t character) {
  const int bidi_class =
      utf8proc_get_property(static_cast<utf8proc_int32_t>(character))->bidi_class;
  return bidi_class == UTF8PROC_BIDI_CLASS_L || bidi_class == UTF8PROC_BIDI_CLASS_EN ||
         bidi_class == UTF8PROC_BIDI_CLASS_AN;
}

// Puts letters of Hebrew and Arabic, and what lies between them, in the order from left to right.
void reverse_right_to_left(std::u32string& line) {
  for (auto begin = line.begin(); begin != line.end();) {
    begin = std::find_if(begin, line.end(), is_right_to_left);
    auto end = std::find_if(begin, line.end(), is_left_to_right);
    const auto next = end;
    while (end != begin && !is_right_to_left(*std::prev(end))) --end;
    std::reverse(begin, end);
    begin = next;
  }
}

int width_of(std::u32string_view text, int line_height) {
  int width = 0;
  for (const char32_t character : text) width += find_glyph(character, line_height)->advance;
  return width;
}

std::string utf8_of(std::u32string_view text) {
  std::string out;
  for (const char32_t character : text) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t size =
        utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
    out.append(bytes.begin(), bytes.begin() + size);
  }
  return out;
}

// The number of characters at the beginning of `text` that are at most `width` pixels wide, but at
// least one.
size_t count_that_fit(std::u32string_view text, int width, int line_height) {
  int end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    end += find_glyph(text[i], line_height)->advance;
    if (i > 0 && end > width) return i;
  }
  return text.size();
}

void draw_glyph(Canvas& canvas, int x, int y, const Glyph& glyph, Color color) {
  cv::Mat& pixels = canvas.pixels();
  const int left = x + glyph.left;
  const int top = y + glyph.top;
  const int end_row = std::min(glyph.height, canvas.height() - top);
  const int end_column = std::min(glyph.width, canvas.width() - left);
  for (int row = std::max(0, -top); row < end_row; ++row) {
    const uint8_t* coverage = glyph.coverage.data() + ptrdiff_t{row} * glyph.width;
    for (int column = std::max(0, -left); column < end_column; ++column) {
      const int ink = coverage[column];
      auto& pixel = pixels.at<cv::Vec3b>(top + row, left + column);
      for (int c = 0; c < 3; ++c) {
        pixel[c] = static_cast<uint8_t>(
            (color[static_cast<size_t>(c)] * ink + pixel[c] * (255 - ink) + 127) / 255);
      }
    }
  }
}

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

}  // namespace

bool has_glyph(char32_t character) {
  return fonts().has(character);
}

std::shared_ptr<const Glyph> find_glyph(char32_t character, int line_height) {
  return fonts().find(character, line_height);
}

int text_width(std::string_view text, int line_height) {
  return width_of(drawn_characters(text), line_height);
}

void draw_text(Canvas& canvas, int x, int y, std::string_view text, int line_height, Color color) {
  std::u32string characters = drawn_characters(text);
  reverse_right_to_left(characters);
  for (const char32_t character : characters) {
    const std::shared_ptr<const Glyph> glyph = find_glyph(character, line_height);
    draw_glyph(canvas, x, y, *glyph, color);
    x += glyph->advance;
    if (x >= canvas.width()) return;
  }
}

std::vector<std::string> wrap_text(std::string_view text, int width, int line_height,
                                   size_t max_lines) {
  const std::u32string characters = drawn_characters(text);
  std::u32string_view rest = characters;
  std::vector<std::string> lines;
  while (!rest.empty() && lines.size() < max_lines) {
    size_t end = count_that_fit(rest, width, line_height);
    const bool is_last = lines.size() + 1 == max_lines;
    if (end < rest.size() && is_last) {
      end = count_that_fit(rest, width - width_of(U"..", line_height), line_height);
      lines.push_back(utf8_of(rest.substr(0, end)) + "..");
      return lines;
    }
    if (end < rest.size() && rest[end] != ' ') {
      const size_t space = rest.substr(0, end).rfind(' ');
      if (space != std::u32string_view::npos && space > 0) end = space;
    }
    lines.push_back(utf8_of(rest.substr(0, end)));
    rest.remove_prefix(end);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return lines;
}

void Labels::draw(std::span<const LabelPlace> places, std::string_view text, Color color) {
  Rect rect{.width = text_width(text, kSmallText) + 2, .height = kSmallText};
  if (rect.width > within_.width || rect.height > within_.height) return;
  for (const LabelPlace& place : places) {
    if (!std::isfinite(place.x) || !std::isfinite(place.y)) continue;
    rect.x = static_cast<int>(
        std::clamp<double>(place.x, within_.x, within_.x + within_.width - rect.width));
    rect.y = static_cast<int>(
        std::clamp<double>(place.y, within_.y, within_.y + within_.height - rect.height));
    const auto touches = [&](const Rect& other) { return overlap(rect, other); };
    if (std::any_of(taken_.begin(), taken_.end(), touches)) continue;
    if (ground_ != nullptr) canvas_.fill(rect, *ground_);
    draw_text(canvas_, rect.x + 1, rect.y, text, kSmallText, color);
    taken_.push_back(rect);
    ++num_drawn_;
    return;
  }
}

void Labels::draw_count(int left, int right, int y, int64_t num_boxes) const {
  const int64_t num_without = num_boxes - num_drawn_;
  if (num_without <= 0) return;
  for (const char* words : {"{} of {} boxes without their name", "{} of {} unnamed", "{}/{}"}) {
    const std::string text = fmt::format(fmt::runtime(words), num_without, num_boxes);
    const int begin = right - text_width(text, kSmallText);
    if (begin < left) continue;
    draw_text(canvas_, begin, y, text, kSmallText, {90, 90, 90});
    return;
  }
}

}  // namespace ffkit
