// Canvas: RGB pixels to draw on, by OpenCV; lines are anti-aliased. Can be moved, not copied. Not
// thread-safe, but threads may draw on parts that do not overlap.
#pragma once

#include <array>
#include <cstdint>

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

}  // namespace ffkit
