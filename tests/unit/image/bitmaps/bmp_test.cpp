// The kinds of BMP, right ones and those that programs write in wrong ways.
#include "bmp_builder.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

using testing::BmpKind;
using testing::copy;
using testing::encode_bmp_as;

using Bytes = std::vector<std::byte>;

TEST(Bmp, ReadsEveryKind) {
  ImageDecoder decoder;
  const auto expect_pixels = [&](const Bytes& data, const std::vector<uint8_t>& rgb) {
    EXPECT_EQ(copy(decoder.decode(data)).rgb, rgb);
  };
  const std::vector<std::array<uint8_t, 3>> two = {{10, 20, 30}, {40, 50, 60}};
  expect_pixels(encode_bmp_as(3, 2, {1, 0, 1, 0, 0, 1}, {.bits = 1, .palette = two}),
                {40, 50, 60, 10, 20, 30, 40, 50, 60, 10, 20, 30, 10, 20, 30, 40, 50, 60});
  expect_pixels(encode_bmp_as(3, 1, {1, 0, 15}, {.bits = 4, .palette = two}),
                {40, 50, 60, 10, 20, 30, 0, 0, 0});  // a colour that is not given is black
  expect_pixels(encode_bmp_as(2, 1, {1, 200}, {.bits = 8, .top_down = true, .palette = two}),
                {40, 50, 60, 0, 0, 0});
  expect_pixels(encode_bmp_as(1, 2, {0x010203, 0x040506}, {}), {1, 2, 3, 4, 5, 6});
  expect_pixels(encode_bmp_as(1, 1, {0x7F010203}, {.bits = 32}), {1, 2, 3});
  BmpKind fields{.bits = 32, .masks = {0xFF, 0xFF00, 0xFF000000}};
  expect_pixels(encode_bmp_as(1, 1, {0x03000201}, fields), {1, 2, 3});
  fields.header_bytes = 124;
  expect_pixels(encode_bmp_as(1, 1, {0x03000201}, fields), {1, 2, 3});
}

TEST(Bmp, NamesWhatItDoesNotRead) {
  const auto with = [](size_t offset, std::vector<uint8_t> bytes) {
    Bytes image = encode_bmp_as(1, 1, {0}, {.bits = 8, .palette = {{1, 2, 3}}});
    for (size_t i = 0; i < bytes.size(); ++i) image[offset + i] = std::byte(bytes[i]);
    return image;
  };
  EXPECT_ERROR(read_image_info(with(14, {16})), unsupported);
  EXPECT_ERROR(read_image_info(with(28, {2})), unsupported);
  EXPECT_ERROR(read_image_info(with(30, {2})), unsupported);
  EXPECT_ERROR(read_image_info(with(10, {20})), corrupt);
  EXPECT_ERROR(read_image_info(with(46, {255, 255, 255, 255})), corrupt);
  EXPECT_ERROR(read_image_info(with(18, {0})), corrupt);
  EXPECT_ERROR(read_image_info(with(22, {0, 0, 0, 0x80})), corrupt);
  EXPECT_ERROR(read_image_info(with(10, {255, 255, 255, 255})), corrupt);
  EXPECT_ERROR(read_image_info(with(18, {255, 255, 255, 0x7F})), corrupt);
  const Bytes image = encode_bmp_as(1, 1, {0}, {.bits = 32, .masks = {0x3FF, 0xFFC00, 0x3FF00000}});
  EXPECT_ERROR(read_image_info(image), unsupported);
  const Bytes four = encode_bmp_as(1, 1, {0}, {.bits = 16, .masks = {0xF00, 0xF0, 0xF}});
  EXPECT_ERROR(read_image_info(four), unsupported);
}

// Changes the little-endian number of `num_bytes` at `offset`.
void set(Bytes& image, size_t offset, uint32_t value, size_t num_bytes = 4) {
  for (size_t i = 0; i < num_bytes; ++i) image[offset + i] = std::byte(value >> (8 * i) & 0xFF);
}

std::vector<uint8_t> rgb_of(const Bytes& image) {
  return copy(ImageDecoder().decode(image)).rgb;
}

const std::vector<std::array<uint8_t, 3>> kTwo = {{10, 20, 30}, {40, 50, 60}};

TEST(Bmp, FindsThePixelsWhereTheirPlaceIsWrong) {
  const std::vector<uint8_t> expected = {40, 50, 60, 10, 20, 30};
  Bytes image = encode_bmp_as(2, 1, {1, 0}, {.bits = 8, .palette = kTwo});
  for (const uint32_t place : {0U, 54U}) {  // none, or the palette's
    set(image, 10, place);
    EXPECT_EQ(rgb_of(image), expected) << place;
  }
  Bytes masks =
      encode_bmp_as(1, 1, {0x03000201}, {.bits = 32, .masks = {0xFF, 0xFF00, 0xFF000000}});
  set(masks, 10, 0);
  EXPECT_EQ(rgb_of(masks), (std::vector<uint8_t>{1, 2, 3}));
}

TEST(Bmp, TakesAPaletteThatIsShorterThanItSays) {
  Bytes image = encode_bmp_as(2, 1, {1, 0}, {.bits = 8, .palette = kTwo});
  for (const uint32_t claimed : {0U, 256U, 1000U}) {
    set(image, 46, claimed);
    EXPECT_EQ(rgb_of(image), (std::vector<uint8_t>{40, 50, 60, 10, 20, 30})) << claimed;
  }
}

TEST(Bmp, NeedsNoPaddingBehindTheLastRow) {
  Bytes image = encode_bmp_as(1, 2, {0x010203, 0x040506}, {});
  image.pop_back();
  EXPECT_EQ(rgb_of(image), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  image.pop_back();
  EXPECT_ERROR(rgb_of(image), corrupt);
}

TEST(Bmp, WidensFiveAndSixBitsAsPillow) {
  EXPECT_EQ(rgb_of(encode_bmp_as(2, 1, {0x7FFF, 1 << 10 | 2 << 5 | 3}, {.bits = 16})),
            (std::vector<uint8_t>{255, 255, 255, 8, 16, 24}));
  const BmpKind kind{.bits = 16, .masks = {0xF800, 0x7E0, 0x1F}, .header_bytes = 124};
  EXPECT_EQ(rgb_of(encode_bmp_as(1, 1, {1 << 11 | 2 << 5 | 3}, kind)),
            (std::vector<uint8_t>{8, 8, 24}));
}

TEST(Bmp, ReadsTheHeaderOfOs2) {
  // 12 bytes: sizes of 16 bits, and colours of three bytes.
  Bytes image(14 + 12 + 6 + 4);
  set(image, 0, 'B' | 'M' << 8, 2);
  set(image, 10, 14 + 12 + 6);
  set(image, 14, 12);
  set(image, 18, 2, 2);
  set(image, 20, 1, 2);
  set(image, 22, 1, 2);
  set(image, 24, 1, 2);
  set(image, 26, 30 | 20 << 8 | 10 << 16 | 60U << 24);
  set(image, 30, 50 | 40 << 8, 2);
  set(image, 32, 0x80);
  EXPECT_EQ(rgb_of(image), (std::vector<uint8_t>{40, 50, 60, 10, 20, 30}));
}

// `runs` as the pixels of 4 x 3; numbers of colours, from the top.
std::vector<int> numbers_of(std::vector<uint8_t> runs, int bits) {
  std::vector<std::array<uint8_t, 3>> palette;
  for (uint8_t i = 0; i < 16; ++i) palette.push_back({i, i, uint8_t(i + 1)});
  Bytes image = encode_bmp_as(4, 3, std::vector<uint32_t>(12), {.bits = bits, .palette = palette});
  set(image, 30, bits == 8 ? 1 : 2);
  image.resize(54 + 64);
  for (const uint8_t byte : runs) image.push_back(std::byte(byte));
  const std::vector<uint8_t> rgb = rgb_of(image);
  std::vector<int> numbers;
  for (size_t i = 0; i < rgb.size(); i += 3) numbers.push_back(rgb[i]);
  return numbers;
}

TEST(Bmp, ReadsRuns) {
  using Numbers = std::vector<int>;
  // A run, a row's end; pixels as they are, with a byte that fills up; a place that is skipped; the
  // end.
  EXPECT_EQ(numbers_of({4, 1, 0, 0, 0, 3, 5, 6, 7, 0, 1, 2, 0, 0, 0, 2, 1, 0, 2, 3, 0, 1}, 8),
            (Numbers{0, 3, 3, 0, 5, 6, 7, 2, 1, 1, 1, 1}));
  EXPECT_EQ(
      numbers_of({4, 0x12, 0, 0, 0, 3, 0x56, 0x70, 1, 0x20, 0, 0, 0, 2, 1, 0, 2, 0x33, 0, 1}, 4),
      (Numbers{0, 3, 3, 0, 5, 6, 7, 2, 1, 2, 1, 2}));
  // What passes the row's end is left out; the last row needs no end; the rest of an ended picture
  // has number 0.
  EXPECT_EQ(numbers_of({9, 1, 0, 0, 9, 2, 0, 0, 9, 3}, 8),
            (Numbers{3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(numbers_of({4, 1, 0, 1}, 8), (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_ERROR(numbers_of({4, 1, 0, 0, 4}, 8), corrupt);
  EXPECT_ERROR(numbers_of({0, 5, 1, 2, 3, 4, 5, 0}, 8), corrupt);
}

}  // namespace
}  // namespace ffkit
