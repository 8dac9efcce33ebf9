// Canvas: RGB pixels to draw on, by OpenCV; lines are anti-aliased. Can be moved, not copied. Not
// thread-safe, but threads may draw on parts that do not overlap. And the text on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core/mat.hpp>

#include <ffkit/image/image_codec.h>

namespace ffkit {

using Color = std::array<uint8_t, 3>;

inline constexpr Color kWhite = {255, 255, 255};

// What is annotated and what was found: a pair that people who cannot tell red from green tell
// apart.
inline constexpr Color kTruthColor = {0, 150, 60};
inline constexpr Color kPredictionColor = {225, 0, 200};

class Canvas {
 public:
  Canvas(int width, int height, Color background);
  Canvas(Canvas&&) = default;
  Canvas& operator=(Canvas&&) = default;

  int width() const { return pixels_.cols; }
  int height() const { return pixels_.rows; }
  RgbView view() const;
  // [height, width] of three bytes, R first.
  cv::Mat& pixels() { return pixels_; }

  // What lies outside of the canvas is cut off.
  void fill(const Rect& rect, Color color);
  // A line along the inner edge of `rect`, and its two diagonals.
  void draw_crossed_box(const Rect& rect, Color color);
  // What lies outside of `within`, or of the canvas, is cut off. The ends may lie anywhere, and
  // need not be finite: then nothing is drawn.
  void draw_line(const Rect& within, double x0, double y0, double x1, double y1, Color color,
                 int thickness = 1);
  // Likewise, in dashes.
  void draw_dashed_line(const Rect& within, double x0, double y0, double x1, double y1,
                        Color color);
  // Likewise, with a head at the second end.
  void draw_arrow(const Rect& within, double x0, double y0, double x1, double y1, Color color);
  // Draws the wished region of a picture scaled to `to`, which must lie within the canvas: a pixel
  // is the mean over the area that it covers in the picture, and enlarged pixels stay sharp
  // squares.
  void draw_picture(const ImageDecoder::Region& picture, const Rect& to);

 private:
  cv::Rect within_canvas(const Rect& rect) const;

  cv::Mat pixels_;
};

// Text on a canvas, in all of Unicode's characters. Hebrew and Arabic run from right to left within
// a line that begins at the left. Letters stand one beside the other: those of Arabic are not
// joined, those of Indic scripts not stacked. What has no picture is shown, too: control characters
// by their symbols (U+2400), bytes that are no UTF-8 as U+FFFD, characters of no font as <U+2A6D6>.
// Labels keep clear of one another.

// Heights of a line with its gap to the next one, in pixels: a size of text.
inline constexpr int kSmallText = 14;
inline constexpr int kText = 20;

// Of one of the fonts in draw/fonts/, which are part of the program: DejaVu Sans, and GNU Unifont
// for the characters that it lacks.
struct Glyph {
  int left = 0;  // from the pen to the first column, in pixels
  int top = 0;   // from the top of the line to the first row
  int width = 0;
  int height = 0;
  int advance = 0;                  // of the pen
  std::vector<uint8_t> coverage{};  // [height, width]: 255 is ink, 0 is paper
};

// Whether one of the fonts has the character. Thread-safe, as the next one.
bool has_glyph(char32_t character);
// For lines of `line_height` pixels, at least 8. A character without a glyph has an empty one.
std::shared_ptr<const Glyph> find_glyph(char32_t character, int line_height);

// `text` is UTF-8.
int text_width(std::string_view text, int line_height);

// Draws one line with its top left corner at (x, y); what lies outside of the canvas is cut off.
void draw_text(Canvas& canvas, int x, int y, std::string_view text, int line_height, Color color);

// `text` in lines of at most `width` pixels, broken at spaces where there are any; ends in ".."
// when there is more.
std::vector<std::string> wrap_text(std::string_view text, int width, int line_height,
                                   size_t max_lines);

struct LabelPlace {
  double x = 0;
  double y = 0;
};

// Names of boxes in a part of a canvas, none of them over another one.
class Labels {
 public:
  // With a `ground`, names stand on a field of that colour.
  Labels(Canvas& canvas, const Rect& within, const Color* ground)
      : canvas_(canvas), within_(within), ground_(ground) {}

  // No label is drawn there.
  void keep_free(const Rect& rect) { taken_.push_back(rect); }
  // Draws `text`, small, at the first of `places`, moved into the part, where it touches no other
  // label. Draws nothing where each of them does, or is not finite, or the part is too small.
  void draw(std::span<const LabelPlace> places, std::string_view text, Color color);
  // Draws how many of `num_boxes` have no name, in small text between `left` and `right`, where it
  // ends; nothing when all have theirs.
  void draw_count(int left, int right, int y, int64_t num_boxes) const;

 private:
  Canvas& canvas_;
  Rect within_;
  const Color* ground_;
  std::vector<Rect> taken_;
  int64_t num_drawn_ = 0;
};

}  // namespace ffkit
