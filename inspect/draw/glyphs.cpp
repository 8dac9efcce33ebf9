#include "draw/glyphs.h"

#include <ft2build.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include FT_FREETYPE_H

#include "base/make_error.h"

// The fonts lie in the program as they are: a literal of six million characters would take the
// compiler a minute.
#define FFKIT_FONT(name, file)                                              \
  asm(".pushsection .rodata\n"                                              \
      ".balign 16\n" #name ": .incbin \"" FFKIT_FONTS "/" file "\"\n" #name \
      "_end:\n"                                                             \
      ".popsection\n");                                                     \
  extern "C" const FT_Byte name[] __attribute__((visibility("hidden")));    \
  extern "C" const FT_Byte name##_end[] __attribute__((visibility("hidden")))
FFKIT_FONT(ffkit_dejavu_sans, "DejaVuSans.ttf");
FFKIT_FONT(ffkit_unifont, "unifont.otf");
FFKIT_FONT(ffkit_unifont_upper, "unifont_upper.otf");  // beyond U+FFFF

namespace ffkit {
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

}  // namespace

bool has_glyph(char32_t character) {
  return fonts().has(character);
}

std::shared_ptr<const Glyph> find_glyph(char32_t character, int line_height) {
  return fonts().find(character, line_height);
}

}  // namespace ffkit
