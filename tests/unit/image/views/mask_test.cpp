// Masks: the numbers of a PNG, and a view of them.
#include <png.h>

#include <ffkit/image/mask.h>

#include "codec/mask_decoder.h"
#include "image_prelude.h"
#include "transform/picture_scaler.h"
#include "views/mask_scaler.h"

namespace ffkit {
namespace {

using MaskFile = std::vector<std::byte>;

std::vector<int64_t> numbers_in(const MaskFile& file, MaskNumbers kind = MaskNumbers::values) {
  MaskDecoder decoder;
  const MaskView mask = decoder.decode(file, kind);
  std::vector<int64_t> numbers;
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) {
      const ptrdiff_t i = y * mask.stride + x;
      if (mask.dtype == DType::u8) numbers.push_back(static_cast<const uint8_t*>(mask.data)[i]);
      if (mask.dtype == DType::u16) numbers.push_back(static_cast<const uint16_t*>(mask.data)[i]);
      if (mask.dtype == DType::i32) numbers.push_back(static_cast<const int32_t*>(mask.data)[i]);
    }
  }
  return numbers;
}

TEST(Mask, HasTheNumbersOfTheFile) {
  // Palette and grey of 1, 2, 4 and 8 bits: indices and values, not colours.
  for (const int type : {PNG_COLOR_TYPE_PALETTE, PNG_COLOR_TYPE_GRAY}) {
    const auto kind = [type](int bits) {
      const int num_colors = type == PNG_COLOR_TYPE_PALETTE ? 1 << bits : 0;
      return testing::PngKind{.color_type = type,
                              .bit_depth = bits,
                              .palette = std::vector<png_color>(static_cast<size_t>(num_colors))};
    };
    EXPECT_THAT(numbers_in(encode_png_as(3, 2, {0b101'00000, 0b010'00000}, kind(1))),
                ElementsAre(1, 0, 1, 0, 1, 0));
    EXPECT_THAT(numbers_in(encode_png_as(3, 1, {0b11'01'10'00}, kind(2))), ElementsAre(3, 1, 2));
    EXPECT_THAT(numbers_in(encode_png_as(3, 1, {0x4F, 0x20}, kind(4))), ElementsAre(4, 15, 2));
    EXPECT_THAT(numbers_in(encode_png_as(3, 1, {7, 255, 15}, kind(8))), ElementsAre(7, 255, 15));
  }
  EXPECT_THAT(numbers_in(encode_png_as(2, 1, {0x12, 0x34, 0xFF, 0xFE}, {PNG_COLOR_TYPE_GRAY, 16})),
              ElementsAre(0x1234, 0xFFFE));
  EXPECT_THAT(numbers_in(encode_png_as(2, 1, {1, 2, 3, 255, 255, 255}, {PNG_COLOR_TYPE_RGB, 8}),
                         MaskNumbers::panoptic),
              ElementsAre(1 + 2 * 256 + 3 * 65536, 0xFFFFFF));
}

TEST(Mask, WhatIsNoMaskIsRefused) {
  const auto refused = [](const MaskFile& file, MaskNumbers kind = MaskNumbers::values) {
    EXPECT_ERROR(MaskDecoder().decode(file, kind), unsupported);
  };
  const testing::Picture picture = testing::make_picture(4, 3);
  refused(encode_jpeg(picture.view()));
  refused(encode_png(picture.view()));
  const std::vector<uint8_t> bytes(4 * 3 * 8, 1);
  refused(encode_png_as(4, 3, bytes, {PNG_COLOR_TYPE_GRAY_ALPHA, 8}));
  refused(encode_png_as(4, 3, bytes, {PNG_COLOR_TYPE_RGB_ALPHA, 8}), MaskNumbers::panoptic);
  refused(encode_png_as(4, 3, bytes, {PNG_COLOR_TYPE_RGB, 16}), MaskNumbers::panoptic);
  MaskFile cut = encode_png_as(40, 30, std::vector<uint8_t>(1200, 3), {PNG_COLOR_TYPE_GRAY, 8});
  cut.erase(cut.end() - 20, cut.end());
  EXPECT_ERROR(MaskDecoder().decode(cut, MaskNumbers::values), corrupt);
  EXPECT_ERROR(MaskDecoder().decode({}, MaskNumbers::values), corrupt);
}

// Row y, column x of a mask of 10 x 6 is 10 y + x.
template <typename Number>
std::vector<Number> ten_by_six() {
  std::vector<Number> numbers(60);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Number>(i);
  return numbers;
}

template <typename To>
std::vector<int64_t> view_of(const CropPlan& plan, ImageSize size, const MaskOptions& options) {
  const std::vector<uint8_t> numbers = ten_by_six<uint8_t>();
  const MaskView mask{
      .data = numbers.data(), .dtype = DType::u8, .width = 10, .height = 6, .stride = 10};
  std::vector<To> out(static_cast<size_t>(size.width * size.height));
  MaskScaler(options).run(mask, plan, size, out.data());
  return {out.begin(), out.end()};
}

TEST(Mask, AViewTakesTheNearestNumbers) {
  const CropPlan part{
      .box = {2, 1, 4, 2}, .resized_width = 6, .resized_height = 3, .taken = {0, 0, 6, 3}};
  // torch's floor(i * 4 / 6) and floor(i * 2 / 3).
  const std::vector<int64_t> expected = {12, 12, 13, 14, 14, 15, 12, 12, 13,
                                         14, 14, 15, 22, 22, 23, 24, 24, 25};
  EXPECT_EQ(view_of<uint8_t>(part, {3, 6}, {}), expected);
  EXPECT_EQ(view_of<uint16_t>(part, {3, 6}, {.dtype = DType::u16}), expected);
  EXPECT_EQ(view_of<int32_t>(part, {3, 6}, {.dtype = DType::i32}), expected);
  EXPECT_EQ(view_of<int64_t>(part, {3, 6}, {.dtype = DType::i64}), expected);
  CropPlan mirrored = part;
  mirrored.flip = true;
  EXPECT_THAT(view_of<uint8_t>(mirrored, {1, 6}, {}), ElementsAre(15, 14, 14, 13, 12, 12));
}

TEST(Mask, FillsWhereTheViewHasNoPicture) {
  const CropPlan plan{.box = {0, 0, 10, 6},
                      .resized_width = 10,
                      .resized_height = 6,
                      .taken = {8, 5, 2, 1},
                      .x = 1,
                      .y = 1};
  EXPECT_THAT(view_of<uint8_t>(plan, {3, 4}, {}),
              ElementsAre(255, 255, 255, 255, 255, 58, 59, 255, 255, 255, 255, 255));
  EXPECT_THAT(view_of<int64_t>(plan, {2, 3}, {.dtype = DType::i64, .fill = -1}),
              ElementsAre(-1, -1, -1, -1, 58, 59));
  const CropPlan nothing{.box = {0, 0, 1, 1}, .resized_width = 1, .resized_height = 1};
  EXPECT_THAT(view_of<uint8_t>(nothing, {2, 2}, {}), Each(255));
}

TEST(Mask, NumbersBecomeOthers) {
  const CropPlan plan{
      .box = {0, 0, 10, 6}, .resized_width = 10, .resized_height = 6, .taken = {1, 0, 3, 1}};
  const MaskOptions options{.dtype = DType::i32, .ids = {{1, 300}, {2, -7}, {3, 300}}};
  EXPECT_THAT(view_of<int32_t>(plan, {1, 3}, options), ElementsAre(300, -7, 300));
  EXPECT_ERROR(view_of<int32_t>(plan, {1, 3}, {.dtype = DType::i32, .ids = {{1, 1}, {3, 3}}}),
               corrupt);
  // A number that is not in the view need not have another one.
  EXPECT_THAT(
      view_of<uint8_t>(
          {.box = {0, 0, 10, 6}, .resized_width = 10, .resized_height = 6, .taken = {1, 0, 1, 1}},
          {1, 1}, {.ids = {{1, 9}}}),
      ElementsAre(9));
}

TEST(Mask, LargeNumbersBecomeOthersToo) {
  const std::vector<int32_t> numbers = {70000, 65535, 65536, -3};
  const MaskView mask{
      .data = numbers.data(), .dtype = DType::i32, .width = 4, .height = 1, .stride = 4};
  const CropPlan plan{
      .box = {0, 0, 4, 1}, .resized_width = 4, .resized_height = 1, .taken = {0, 0, 4, 1}};
  std::vector<uint8_t> out(4);
  MaskScaler({.ids = {{70000, 1}, {65535, 2}, {65536, 3}, {-3, 4}}})
      .run(mask, plan, {1, 4}, out.data());
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4));
  EXPECT_ERROR(
      MaskScaler({.ids = {{65535, 2}, {65536, 3}, {-3, 4}}}).run(mask, plan, {1, 4}, out.data()),
      corrupt);
  EXPECT_ERROR(MaskScaler(MaskOptions{}).run(mask, plan, {1, 4}, out.data()), corrupt);
  std::vector<int64_t> all(4);
  MaskScaler({.dtype = DType::i64}).run(mask, plan, {1, 4}, all.data());
  EXPECT_THAT(all, ElementsAre(70000, 65535, 65536, -3));
}

TEST(Mask, OptionsThatCannotBeAreRefused) {
  EXPECT_ERROR(validate(MaskOptions{.dtype = DType::f32}), invalid_argument);
  EXPECT_ERROR(validate(MaskOptions{.fill = 256}), invalid_argument);
  EXPECT_ERROR(validate(MaskOptions{.fill = -1}), invalid_argument);
  EXPECT_ERROR(validate(MaskOptions{.dtype = DType::u16, .ids = {{1, 65536}}}), invalid_argument);
  EXPECT_ERROR(validate(MaskOptions{.dtype = DType::i32, .fill = int64_t{1} << 31}),
               invalid_argument);
  validate(MaskOptions{.dtype = DType::i64, .fill = std::numeric_limits<int64_t>::min()});
  validate(MaskOptions{.dtype = DType::i32, .fill = -(int64_t{1} << 31)});
}

}  // namespace
}  // namespace ffkit
