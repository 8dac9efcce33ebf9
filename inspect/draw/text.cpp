#include "draw/text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "draw/glyphs.h"
#include "text/words/characters.h"

namespace ffkit {
namespace {

// What is drawn for `text`: letters with their accents (Unicode's form C), without the characters
// that are never seen, such as U+200B.
std::u32string drawn_characters(std::string_view text) {
  const std::string valid = text::with_replacements(text);
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
      for (const char c : fmt::format("<U+{:04X}>", uint32_t{character})) {
        drawn += static_cast<unsigned char>(c);
      }
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
    for (utf8proc_ssize_t i = 0; i < size; ++i) {
      out += static_cast<char>(bytes[static_cast<size_t>(i)]);
    }
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

}  // namespace

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

}  // namespace ffkit
