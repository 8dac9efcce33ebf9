#include <initializer_list>

#include "codec/jpeg_check_picture.h"
#include "codec/jpeg_decoder.h"
#include "image_prelude.h"
#include "jpeg/jpeg_bits.h"
#include "jpeg/libjpeg.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::decode_with_libjpeg;

bool attaches(const std::vector<std::byte>& image) {
  if (!JpegHuffman::can_take(image)) return false;
  JpegErrors errors;
  jpeg_decompress_struct info = {};
  info.err = errors.base();
  JpegHuffman huffman;
  bool result = false;
  errors.guard(0, [&] {
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image.data()), image.size());
    jpeg_read_header(&info, TRUE);
    jpeg_start_decompress(&info);
    result = huffman.attach(info, 0, static_cast<int>(info.MCUs_per_row) - 1);
  });
  jpeg_destroy_decompress(&info);
  return result;
}

TEST(JpegHuffman, TakesTheUsualJpegAndLeavesTheOthers) {
  const Picture picture = make_picture(60, 50);
  EXPECT_TRUE(attaches(encode_jpeg(picture.view())));
  EXPECT_TRUE(attaches(encode_jpeg_as(picture, {.optimized = true})));
  EXPECT_TRUE(attaches(encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE})));
  EXPECT_TRUE(attaches(encode_jpeg_as(picture, {.stored = JCS_CMYK})));
  EXPECT_FALSE(attaches(encode_jpeg_as(picture, {.progressive = true})));
  EXPECT_FALSE(attaches(encode_jpeg_as(picture, {.restart_interval = 4})));
}

// libjpeg has other decoders for these, of which nothing may be replaced.
TEST(JpegHuffman, NeverReachesOtherKindsOfFrames) {
  const Picture picture = make_picture(60, 50);
  const auto baseline = encode_jpeg(picture.view());
  ASSERT_TRUE(JpegHuffman::can_take(baseline));
  const auto arithmetic = encode_jpeg_as(picture, {.arithmetic = true});
  EXPECT_FALSE(JpegHuffman::can_take(arithmetic));
  EXPECT_EQ(copy(ImageDecoder().decode(arithmetic)).rgb, decode_with_libjpeg(arithmetic).rgb);
  // The same with the frame's marker changed: C3 and C7 are lossless, C9 to CB arithmetic.
  size_t frame = 2;
  while (baseline[frame + 1] != std::byte{0xC0}) {
    frame += 2 + (std::to_integer<size_t>(baseline[frame + 2]) << 8) +
             std::to_integer<size_t>(baseline[frame + 3]);
  }
  for (unsigned kind = 0xC0; kind <= 0xCF; ++kind) {
    if (kind == 0xC4 || kind == 0xC8 || kind == 0xCC) continue;  // no frames
    auto other = baseline;
    other[frame + 1] = static_cast<std::byte>(kind);
    EXPECT_EQ(JpegHuffman::can_take(other), kind <= 0xC1) << kind;
  }
  for (size_t size = 0; size <= frame + 3; ++size) {
    EXPECT_FALSE(JpegHuffman::can_take(std::span(baseline).first(size))) << size;
  }
}

TEST(JpegHuffman, ChecksItselfWithTheBuiltInPicture) {
  EXPECT_EQ(jpeg_huffman_decoder(), JpegHuffmanDecoder::own);
  std::vector<std::byte> picture(kJpegCheckPicture.size());
  std::memcpy(picture.data(), kJpegCheckPicture.data(), picture.size());
  EXPECT_TRUE(attaches(picture));
  EXPECT_TRUE(JpegDecoder::hooks_agree(picture));
  // What it does not take, or gives up, is no agreement.
  EXPECT_FALSE(
      JpegDecoder::hooks_agree(encode_jpeg_as(make_picture(40, 24), {.progressive = true})));
  auto broken = picture;
  std::fill(broken.end() - 60, broken.end() - 2, std::byte{0x7F});
  EXPECT_FALSE(JpegDecoder::hooks_agree(broken));
}

// Everything from flat to pure noise: short codes, codes beyond the lookup, runs of 16, blocks
// without an end.
std::vector<Picture> pictures() {
  std::vector<Picture> list = {make_picture(203, 131), make_picture(9, 7)};
  list.push_back({64, 64, std::vector<uint8_t>(64 * 64 * 3, 77)});
  std::mt19937 random(5);
  Picture noise{150, 90, std::vector<uint8_t>(150 * 90 * 3)};
  for (uint8_t& value : noise.rgb) value = (random() & 1) != 0 ? 255 : 0;
  list.push_back(noise);
  for (uint8_t& value : noise.rgb) value = static_cast<uint8_t>(random());
  list.push_back(noise);
  return list;
}

TEST(JpegHuffman, GivesLibjpegsPixels) {
  ImageDecoder decoder;
  for (const Picture& picture : pictures()) {
    for (int quality : {3, 40, 75, 92, 100}) {
      for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2)}) {
        for (bool optimized : {false, true}) {
          const auto image = encode_jpeg_as(
              picture, {.h_samp = h, .v_samp = v, .quality = quality, .optimized = optimized});
          ASSERT_EQ(copy(decoder.decode(image)).rgb, decode_with_libjpeg(image).rgb)
              << picture.width << " quality " << quality << " " << h << "x" << v;
        }
      }
      const auto grey = encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE, .quality = quality});
      ASSERT_EQ(copy(decoder.decode(grey)).rgb, decode_with_libjpeg(grey).rgb);
    }
  }
}

// Regions skip blocks above and beside them; the noise makes every way of ending a block occur.
TEST(JpegHuffman, SkipsWhatARegionLeavesOut) {
  std::mt19937 random(6);
  ImageDecoder decoder;
  for (const Picture& picture : pictures()) {
    for (int quality : {3, 75, 100}) {
      const auto image = encode_jpeg_as(picture, {.quality = quality, .optimized = quality == 75});
      const Picture whole = decode_with_libjpeg(image);
      for (int i = 0; i < 40; ++i) {
        Rect rect;
        rect.width = 1 + static_cast<int>(random() % static_cast<unsigned>(picture.width));
        rect.height = 1 + static_cast<int>(random() % static_cast<unsigned>(picture.height));
        rect.x = static_cast<int>(random() % static_cast<unsigned>(picture.width - rect.width + 1));
        rect.y =
            static_cast<int>(random() % static_cast<unsigned>(picture.height - rect.height + 1));
        const auto region = decoder.decode_region(image, rect, 0, 0);
        for (int y = 0; y < rect.height; ++y) {
          const uint8_t* row = region.pixels.data + (region.wanted.y + y) * region.pixels.stride +
                               ptrdiff_t{3} * region.wanted.x;
          ASSERT_EQ(std::memcmp(row, whole.at(rect.x, rect.y + y), 3 * size_t(rect.width)), 0);
        }
      }
    }
  }
}

TEST(JpegHuffman, LeavesBrokenScansToLibjpeg) {
  std::mt19937 random(8);
  ImageDecoder decoder;
  const auto image = encode_jpeg(make_picture(160, 120).view());
  int num_irregular = 0;
  for (int i = 0; i < 600; ++i) {
    auto broken = image;
    for (int k = 0; k < 4; ++k) {
      broken[700 + random() % (image.size() - 702)] = std::byte(random());
    }
    long num_warnings = 0;
    const Picture expected = decode_with_libjpeg(broken, &num_warnings);
    Picture got;
    try {
      got = copy(decoder.decode(broken));
    } catch (const Error&) {
      // Where the data runs out, libjpeg's own source goes on with grey.
      EXPECT_TRUE(expected.rgb.empty() || num_warnings > 0);
      ++num_irregular;
      continue;
    }
    ASSERT_EQ(got.rgb, expected.rgb) << i;
    if (num_warnings > 0) ++num_irregular;
  }
  EXPECT_GT(num_irregular, 10);
}

// The table of skips against decoding one symbol after another.
constexpr int kBits = JpegHuffmanTable::kSkipBits;

// `counts`: of codes of 1, 2, ... bits.
JHUFF_TBL make_table(std::initializer_list<int> counts, std::initializer_list<int> symbols) {
  JHUFF_TBL table = {};
  size_t length = 0;
  for (const int count : counts) table.bits[++length] = static_cast<UINT8>(count);
  size_t i = 0;
  for (const int symbol : symbols) table.huffval[i++] = static_cast<UINT8>(symbol);
  return table;
}

struct Skipped {
  uint32_t length = 0;
  uint32_t advance = 0;
  bool is_end = false;
  bool operator==(const Skipped&) const = default;
};

// The symbol whose code is at bit `at`; sets the code's length, or leaves 0 where none lies within
// the window.
int symbol_at(const JHUFF_TBL& table, uint32_t window, int at, int& code_length) {
  int code = 0;
  int first = 0;  // the first code of this length, as the standard's figure F.16 counts
  int index = 0;
  for (int length = 1; length <= kBits - at && length <= JpegHuffmanTable::kLookupBits; ++length) {
    code = code << 1 | static_cast<int>(window >> (kBits - at - length) & 1);
    const int count = table.bits[length];
    if (code - first < count) {
      code_length = length;
      return table.huffval[index + code - first];
    }
    index += count;
    first = (first + count) << 1;
  }
  return 0;
}

Skipped skip_one_by_one(const JHUFF_TBL& table, uint32_t window) {
  Skipped out;
  while (!out.is_end) {
    int code_length = 0;
    const int symbol = symbol_at(table, window, static_cast<int>(out.length), code_length);
    const auto length = static_cast<uint32_t>(code_length + (symbol & 15));
    if (code_length == 0 || out.length + length > uint32_t{kBits}) break;
    out.length += length;
    out.is_end = symbol == 0x00;
    if (!out.is_end) out.advance += static_cast<uint32_t>(symbol >> 4) + 1;
  }
  return out;
}

TEST(JpegHuffmanTable, SkipsAllSymbolsThatLieWithinTheWindow) {
  const std::vector<JHUFF_TBL> tables = {
      make_table({0, 2, 1, 3}, {0x01, 0x02, 0x03, 0x00, 0x04, 0x11}),  // as the standard's begins
      make_table({1, 1, 1}, {0x01, 0xf0, 0x00}),                       // five symbols and more
      make_table({0, 1, 2, 0, 0, 0, 0, 0, 0, 1, 2}, {0x00, 0x1a, 0x25, 0x31, 0x41, 0x02}),
  };
  auto built = std::make_unique<JpegHuffmanTable>();
  for (size_t i = 0; i < tables.size(); ++i) {
    built->build(tables[i], false, true);
    for (uint32_t window = 0; window < (1U << kBits); ++window) {
      const uint32_t skip = built->skips[window];
      const Skipped found{.length = skip & JpegHuffmanTable::kSkipLengthMask,
                          .advance = skip >> JpegHuffmanTable::kSkipAdvanceShift,
                          .is_end = (skip >> JpegHuffmanTable::kSkipEndShift & 1) != 0};
      ASSERT_EQ(found, skip_one_by_one(tables[i], window)) << "table " << i << ", " << window;
    }
  }
}

}  // namespace
}  // namespace ffkit
