// Canvas: RGB pixels to draw on. A plain value; not thread-safe, but threads may draw on parts that do not overlap.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ffkit/image/image_codec.h>

namespace ffkit {

using Color = std::array<uint8_t, 3>;

class Canvas {
 public:
  Canvas(int width, int height, Color background);

  int width() const { return width_; }
  int height() const { return height_; }
  RgbView view() const;

  // What lies outside of the canvas is cut off.
  void fill(const Rect& rect, Color color);
  // A line of one pixel width along the inner edge of `rect`, and its two diagonals.
  void draw_crossed_box(const Rect& rect, Color color);
  // A line of one pixel width; what lies outside of `within`, or of the canvas, is cut off. The ends may lie anywhere, and need not be finite: then
  // nothing is drawn.
  void draw_line(const Rect& within, double x0, double y0, double x1, double y1, Color color);
  // Draws the wished region of a picture scaled to `to`, which must lie within the canvas: every pixel is the mean over the area that
  // it covers in the picture (so enlarged pixels stay sharp squares).
  void draw_picture(const ImageDecoder::Region& picture, const Rect& to);

 private:
  uint8_t* at(int x, int y);

  int width_;
  int height_;
  std::vector<uint8_t> rgb_;
};

}  // namespace ffkit
