// A bitmap font: printable ASCII in 5 x 7 pixels (descenders one more), everything else as a box.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"

namespace ffkit {

inline constexpr int kCharacterWidth = 6;  // with the gap to the next one, in pixels at scale 1
inline constexpr int kLineHeight = 10;

// `text` is UTF-8; one box a character that the font lacks.
int text_width(std::string_view text, int scale);

// Draws with the top left corner at (x, y), every pixel of the font as scale x scale; what does not fit is cut off.
void draw_text(Canvas& canvas, int x, int y, std::string_view text, int scale, Color color);

// `text` in lines of at most `width` pixels, broken at spaces where there are any; ends in ".." when there is more.
std::vector<std::string> wrap_text(std::string_view text, int width, int scale, size_t max_lines);

}  // namespace ffkit
