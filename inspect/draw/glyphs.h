// Glyphs of the fonts in draw/fonts/, which are part of the program: DejaVu Sans, and GNU Unifont
// for the characters that it lacks. By FreeType. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace ffkit {

struct Glyph {
  int left = 0;  // from the pen to the first column, in pixels
  int top = 0;   // from the top of the line to the first row
  int width = 0;
  int height = 0;
  int advance = 0;                  // of the pen
  std::vector<uint8_t> coverage{};  // [height, width]: 255 is ink, 0 is paper
};

// Whether one of the fonts has the character.
bool has_glyph(char32_t character);

// For lines of `line_height` pixels, at least 8. A character without a glyph has an empty one.
std::shared_ptr<const Glyph> find_glyph(char32_t character, int line_height);

}  // namespace ffkit
