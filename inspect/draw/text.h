// Text on a canvas, in all of Unicode's characters. Hebrew and Arabic run from right to left within
// a line that begins at the left. Letters stand one beside the other: those of Arabic are not
// joined, those of Indic scripts not stacked. What has no picture is shown, too: control characters
// by their symbols (U+2400), bytes that are no UTF-8 as U+FFFD, characters of no font as <U+2A6D6>.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"

namespace ffkit {

// Heights of a line with its gap to the next one, in pixels: a size of text.
inline constexpr int kSmallText = 14;
inline constexpr int kText = 20;

// `text` is UTF-8.
int text_width(std::string_view text, int line_height);

// Draws one line with its top left corner at (x, y); what lies outside of the canvas is cut off.
void draw_text(Canvas& canvas, int x, int y, std::string_view text, int line_height, Color color);

// `text` in lines of at most `width` pixels, broken at spaces where there are any; ends in ".."
// when there is more.
std::vector<std::string> wrap_text(std::string_view text, int width, int line_height,
                                   size_t max_lines);

}  // namespace ffkit
