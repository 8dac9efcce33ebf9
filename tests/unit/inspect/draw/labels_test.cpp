#include "draw/labels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "draw/text.h"

namespace ffkit {
namespace {

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

class LabelsTest : public testing::Test {
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
