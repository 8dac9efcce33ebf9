#include "draw/canvas.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

std::string bytes_of(Canvas& canvas) {
  const cv::Mat& pixels = canvas.pixels();
  return {reinterpret_cast<const char*>(pixels.data), pixels.total() * pixels.elemSize()};
}

// Pixels of a line of text, R, G, B and so on.
std::string pixels_of(const std::string& text, int line_height = kText) {
  Canvas canvas(400, line_height, {255, 255, 255});
  draw_text(canvas, 2, 0, text, line_height, {0, 0, 0});
  return bytes_of(canvas);
}

TEST(DrawnText, EachScriptHasItsOwnCharacters) {
  const std::vector<std::string> texts = {
      "Muller", "Müller", "M?ller", "Ελλάδα", "Москва", "東京", "서울", "القاهرة", "ירושלים",
      "दिल्ली",  "ไทย",    "😀",      "𠀋",     "ﬃ",      "∀x∈ℝ", "�",    ""};
  for (const int line_height : {kSmallText, kText, 2 * kText}) {
    std::vector<std::string> pictures;
    for (const std::string& text : texts) pictures.push_back(pixels_of(text, line_height));
    std::sort(pictures.begin(), pictures.end());
    EXPECT_EQ(std::unique(pictures.begin(), pictures.end()), pictures.end());
  }
}

TEST(DrawnText, EachCharacterOfTheFirstPlaneHasAGlyph) {
  int missing = 0;
  for (char32_t c = 0x20; c < 0xFFFE; ++c) {
    const bool is_assigned = c < 0xD800 || c > 0xF8FF;  // surrogates and private use
    if (is_assigned && !has_glyph(c)) ++missing;
  }
  EXPECT_LT(missing, 4000);  // those that Unicode 15 does not have either
}

TEST(DrawnText, FormsOfOneLetterLookAlike) {
  EXPECT_EQ(pixels_of("Mu\u0308ller"), pixels_of("M\u00FCller"));
  EXPECT_EQ(pixels_of("a\u200Bb"), pixels_of("ab"));
}

TEST(DrawnText, HebrewRunsFromRightToLeft) {
  const std::string aleph = "\u05D0";
  const std::string bet = "\u05D1";
  EXPECT_NE(pixels_of(aleph + bet), pixels_of(bet + aleph));
  Canvas first(60, kText, {255, 255, 255});
  draw_text(first, 2, 0, aleph + bet, kText, {0, 0, 0});
  Canvas second(60, kText, {255, 255, 255});
  draw_text(second, 2, 0, bet, kText, {0, 0, 0});
  draw_text(second, 2 + text_width(bet, kText), 0, aleph, kText, {0, 0, 0});
  EXPECT_EQ(bytes_of(first), bytes_of(second));
}

TEST(DrawnText, WhatIsNotToBeSeenIsShown) {
  EXPECT_EQ(pixels_of("a\nb"), pixels_of("a\u240Ab"));
  EXPECT_EQ(pixels_of("a\x7F"), pixels_of("a\u2421"));
  EXPECT_EQ(pixels_of("a\xFFz"), pixels_of("a\uFFFDz"));
  EXPECT_EQ(pixels_of("\xE6\x9D"), pixels_of("\uFFFD"));  // begun and not ended
  EXPECT_EQ(pixels_of("\U0002A6D6"), pixels_of("<U+2A6D6>"));
}

TEST(DrawnText, LinesOfAHeightHoldTheirLetters) {
  for (const int line_height : {kSmallText, kText, 2 * kText}) {
    // Accents of capitals may touch the line above.
    for (const char32_t c : U"ÂÅgjpqy|ÖВЩ中") {
      if (c == 0) continue;
      const auto glyph = find_glyph(c, line_height);
      EXPECT_GE(glyph->top, -2) << uint32_t{c};
      EXPECT_LE(glyph->top + glyph->height, line_height + line_height / 20) << uint32_t{c};
    }
  }
}

TEST(DrawnText, IsCutOffAtTheEdges) {
  Canvas canvas(30, 12, {255, 255, 255});
  draw_text(canvas, -7, -5, "Wide text that continues", kText, {0, 0, 0});
  draw_text(canvas, 20, 8, "W", kText, {0, 0, 0});
  draw_text(canvas, 500, 500, "W", kText, {0, 0, 0});
  draw_text(canvas, -500, -500, "W", kText, {0, 0, 0});
}

TEST(DrawnText, WidthIsThatOfThePixels) {
  Canvas canvas(400, 40, {255, 255, 255});
  draw_text(canvas, 0, 0, "Müller 東京", kText, {0, 0, 0});
  int right = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      if (canvas.pixels().at<cv::Vec3b>(y, x)[0] < 128) right = std::max(right, x);
    }
  }
  EXPECT_NEAR(text_width("Müller 東京", kText), right, 4);
  EXPECT_EQ(text_width("", kText), 0);
}

TEST(DrawnText, IsWrappedAtSpacesAndWithinLongWords) {
  const int width = text_width("one two", kText);
  EXPECT_EQ(wrap_text("one two three", width, kText, 9),
            (std::vector<std::string>{"one two", "three"}));
  EXPECT_TRUE(wrap_text("", width, kText, 9).empty());
  for (const std::string& text : {std::string("東京都新宿区西新宿二丁目八番一号"),
                                  std::string("Mu\u0308nchener-Straßenbahn-Linie"),
                                  std::string("no\xFFutf8 \x01\x02 and more of it")}) {
    for (const size_t max_lines : {size_t{1}, size_t{2}, size_t{9}}) {
      const std::vector<std::string> lines = wrap_text(text, 120, kSmallText, max_lines);
      EXPECT_LE(lines.size(), max_lines);
      for (const std::string& line : lines) EXPECT_LE(text_width(line, kSmallText), 120) << line;
      EXPECT_EQ(lines.back().ends_with(".."), max_lines == 1) << lines.back();
    }
  }
}

constexpr Color kInk = {0, 0, 0};
constexpr Color kPaper = {255, 255, 255};

std::string bytes_of_part(Canvas& canvas, const Rect& part) {
  std::string bytes;
  for (int y = part.y; y < part.y + part.height; ++y) {
    for (int x = part.x; x < part.x + part.width; ++x) {
      bytes += static_cast<char>(canvas.pixels().at<cv::Vec3b>(y, x)[0]);
    }
  }
  return bytes;
}

bool is_empty(Canvas& canvas, const Rect& part) {
  return bytes_of_part(canvas, part).find_first_not_of('\xFF') == std::string::npos;
}

class LabelsTest : public ::testing::Test {
 protected:
  static constexpr Rect kUpper = {0, 0, 200, kSmallText};
  static constexpr Rect kLower = {0, 40, 200, kSmallText};

  Canvas canvas_{200, 60, kPaper};
  Labels labels_{canvas_, {0, 0, 200, 60}, nullptr};
};

TEST_F(LabelsTest, SecondOneTakesTheNextPlace) {
  const std::array<LabelPlace, 2> places = {{{10, 0}, {10, 40}}};
  labels_.draw(places, "car", kInk);
  EXPECT_FALSE(is_empty(canvas_, kUpper));
  EXPECT_TRUE(is_empty(canvas_, kLower));
  const std::string before = bytes_of_part(canvas_, kUpper);
  labels_.draw(places, "truck", kInk);
  EXPECT_EQ(bytes_of_part(canvas_, kUpper), before);
  EXPECT_FALSE(is_empty(canvas_, kLower));
}

TEST_F(LabelsTest, ThirdOneIsCountedAndNotDrawn) {
  const std::array<LabelPlace, 2> places = {{{10, 0}, {10, 40}}};
  labels_.draw(places, "car", kInk);
  labels_.draw(places, "truck", kInk);
  const std::string before = bytes_of_part(canvas_, {0, 0, 200, 60});
  labels_.draw(places, "bus", kInk);
  labels_.draw_count(0, 200, 20, 2);  // both have their names
  EXPECT_EQ(bytes_of_part(canvas_, {0, 0, 200, 60}), before);
  labels_.draw_count(0, 200, 20, 3);
  EXPECT_NE(bytes_of_part(canvas_, {0, 0, 200, 60}), before);
}

TEST_F(LabelsTest, CountIsShortenedWhereThereIsLittleRoom) {
  labels_.draw_count(155, 200, 20, 30);
  EXPECT_TRUE(is_empty(canvas_, {0, 0, 155, 60}));
  EXPECT_FALSE(is_empty(canvas_, {155, 0, 45, 60}));
}

TEST_F(LabelsTest, PlacesThatAreKeptFreeStayFree) {
  labels_.keep_free(kUpper);
  const std::array<LabelPlace, 1> places = {{{10, 3}}};
  labels_.draw(places, "car", kInk);
  EXPECT_TRUE(is_empty(canvas_, {0, 0, 200, 60}));
  labels_.draw_count(0, 200, 20, 1);
  EXPECT_FALSE(is_empty(canvas_, {0, 0, 200, 60}));
}

TEST_F(LabelsTest, IsMovedIntoThePart) {
  Labels left(canvas_, {0, 0, 100, 60}, nullptr);
  const std::array<LabelPlace, 1> places = {{{98, 500}}};
  left.draw(places, "car", kInk);
  EXPECT_TRUE(is_empty(canvas_, {100, 0, 100, 60}));
  EXPECT_FALSE(is_empty(canvas_, {100 - text_width("car", kSmallText) - 2, 60 - kSmallText,
                                  text_width("car", kSmallText), kSmallText}));
}

TEST_F(LabelsTest, PlacesAtInfinityAndTooSmallPartsGetNone) {
  const std::array<LabelPlace, 2> places = {{{NAN, 0}, {0, INFINITY}}};
  labels_.draw(places, "car", kInk);
  Labels small(canvas_, {0, 0, 5, 60}, nullptr);
  const std::array<LabelPlace, 1> inside = {{{1, 1}}};
  small.draw(inside, "car", kInk);
  EXPECT_TRUE(is_empty(canvas_, {0, 0, 200, 60}));
}

}  // namespace
}  // namespace ffkit
