#include "draw/text.h"

#include <opencv2/imgproc.hpp>

namespace ffkit {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;

// Capitals are 21 units high, descenders 7 units deep.
double font_scale(int line_height) {
  return line_height / 32.0;
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// A character of the font for each character.
std::string in_font(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (begins_character(c)) out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out;
}

// The longest beginning of `text` of whole characters that is at most `width` pixels wide, but at
// least one.
size_t num_bytes_that_fit(std::string_view text, int width, int line_height) {
  size_t fit = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    if (end < text.size() && !begins_character(text[end])) continue;
    if (fit > 0 && text_width(text.substr(0, end), line_height) > width) break;
    fit = end;
  }
  return fit;
}

}  // namespace

int text_width(std::string_view text, int line_height) {
  if (text.empty()) return 0;
  int baseline = 0;
  return cv::getTextSize(in_font(text), kFont, font_scale(line_height), 1, &baseline).width;
}

void draw_text(Canvas& canvas, int x, int y, std::string_view text, int line_height, Color color) {
  const double scale = font_scale(line_height);
  cv::putText(canvas.pixels(), in_font(text), {x, y + static_cast<int>(23 * scale)}, kFont, scale,
              {double(color[0]), double(color[1]), double(color[2])}, 1, cv::LINE_AA);
}

std::vector<std::string> wrap_text(std::string_view text, int width, int line_height,
                                   size_t max_lines) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < max_lines) {
    size_t end = num_bytes_that_fit(text, width, line_height);
    const bool is_last = lines.size() + 1 == max_lines;
    if (end < text.size() && is_last) {
      end = num_bytes_that_fit(text, width - text_width("..", line_height), line_height);
      lines.push_back(std::string(text.substr(0, end)) + "..");
      return lines;
    }
    if (end < text.size() && text[end] != ' ') {
      const size_t space = text.substr(0, end).rfind(' ');
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

}  // namespace ffkit
