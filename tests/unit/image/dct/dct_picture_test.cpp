// The dct code as bytes: from a JPEG and back, what is refused, and what is broken.
#include "dct_test_pictures.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

using testing::NamedJpeg;

std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::optional<DctRefusal> refusal_of(const std::vector<std::byte>& jpeg) {
  std::vector<std::byte> dct = {std::byte{1}};
  const auto refusal = encode_dct_picture(jpeg, dct);
  EXPECT_EQ(refusal.has_value(), dct.empty());
  return refusal;
}

void expect_round_trip(const std::vector<std::byte>& jpeg, const std::string& name) {
  std::vector<std::byte> dct;
  const auto refusal = encode_dct_picture(jpeg, dct);
  ASSERT_FALSE(refusal) << name << " is " << to_string(*refusal);
  EXPECT_TRUE(is_dct_picture(dct));
  EXPECT_TRUE(decode_dct_to_jpeg(dct) == jpeg) << name;
}

TEST(DctPicture, GivesTheSameFileBack) {
  DctTranscoder transcoder;
  std::vector<std::byte> dct;
  std::vector<std::byte> jpeg;
  for (const NamedJpeg& picture : testing::jpegs_for_dct()) {
    expect_round_trip(picture.jpeg, picture.name);
    ASSERT_FALSE(transcoder.encode(picture.jpeg, dct)) << picture.name;
    transcoder.decode_to_jpeg(dct, jpeg);
    EXPECT_TRUE(jpeg == picture.jpeg) << picture.name << ", by a transcoder that was used before";
  }
}

TEST(DctPicture, BeginsWithAMagicNumber) {
  std::vector<std::byte> dct;
  ASSERT_FALSE(encode_dct_picture(encode_jpeg(make_picture(40, 30).view()), dct));
  EXPECT_EQ(std::memcmp(dct.data(),
                        "\x93"
                        "FFDCT\x01",
                        7),
            0);
  EXPECT_EQ(detect_image_encoding(dct), ImageEncoding::dct);
  EXPECT_EQ(to_string(ImageEncoding::dct), "dct");
  EXPECT_FALSE(is_dct_picture(std::span(dct).first(5)));
  EXPECT_FALSE(is_dct_picture({}));
  EXPECT_FALSE(is_dct_picture(encode_jpeg(make_picture(40, 30).view())));
}

TEST(DctPicture, KeepsAllOtherBytes) {
  const auto jpeg = encode_jpeg(make_picture(75, 50).view());
  auto with_tail = jpeg;
  for (const char byte : std::string_view("\xff\xd9\0trailer\xff\xff", 12)) {
    with_tail.push_back(static_cast<std::byte>(byte));
  }
  expect_round_trip(with_tail, "with bytes after its end");
  auto with_comment = jpeg;
  const auto comment = text_bytes(std::string_view("\xff\xff\xff\xfe\0\x06text", 10));
  with_comment.insert(with_comment.begin() + 2, comment.begin(), comment.end());
  expect_round_trip(with_comment, "with fill bytes and a comment");
  // Bits behind the last code.
  int num_padded = 0;
  for (int width = 8; width <= 64; width += 8) {
    auto other = encode_jpeg(make_picture(width, 8).view());
    std::byte& last = other[other.size() - 3];
    if ((last & std::byte{1}) == std::byte{0}) continue;
    last &= std::byte{0xFE};
    if (refusal_of(other)) continue;  // it was no padding
    ++num_padded;
    expect_round_trip(other, "with another padding");
  }
  EXPECT_GT(num_padded, 2);
}

// `text` before the end of image.
std::vector<std::byte> before_end(std::vector<std::byte> jpeg, std::string_view text) {
  const auto bytes = text_bytes(text);
  jpeg.insert(jpeg.end() - 2, bytes.begin(), bytes.end());
  return jpeg;
}

TEST(DctPicture, TakesWhatMayStandBeforeTheEndOfImage) {
  using std::string_view_literals::operator""sv;
  for (const auto& jpeg : {encode_jpeg(make_picture(75, 50).view()),
                           encode_jpeg_as(make_picture(9, 8), {.stored = JCS_GRAYSCALE})}) {
    for (const std::string_view text :
         {"\xff"sv, "\xff\xff\xff\xff\xff"sv, "\xff\xfe\0\x06text"sv,
          "\xff\xff\xfe\0\x04\xff\xd9\xff"sv, "\xff\xe1\0\x02\xff\xfe\0\x03x"sv,
          "\xff\xfe\0\x03xstray"sv, "\xff\xd0"sv, "\xff\xd8"sv, "\xff\xd9"sv}) {
      const auto odd = before_end(jpeg, text);
      expect_round_trip(odd, std::string(text));
      std::vector<std::byte> dct;
      ASSERT_FALSE(encode_dct_picture(odd, dct));
      EXPECT_EQ(testing::copy(ImageDecoder().decode(dct)).rgb,
                testing::copy(ImageDecoder().decode(jpeg)).rgb);
    }
    EXPECT_EQ(refusal_of(before_end(jpeg, "\xff\xfe\x7f\xff"sv)), DctRefusal::damaged);
    EXPECT_EQ(refusal_of(before_end(jpeg, "\xff\xda\0\x02"sv)), DctRefusal::several_scans);
  }
}

// None of these is damaged: they decode as ever.
TEST(DctPicture, HasAReasonOfItsOwnForWholeButIrregularFiles) {
  const auto expect = [](const std::vector<std::byte>& jpeg, DctRefusal refusal) {
    EXPECT_EQ(refusal_of(jpeg), refusal);
    EXPECT_NO_THROW(ImageDecoder().decode(jpeg)) << to_string(refusal);
  };
  const auto jpeg = encode_jpeg(make_picture(75, 50).view());
  expect(before_end(jpeg, "UUU"), DctRefusal::unused_bytes);
  const auto find = [](const std::vector<std::byte>& bytes, std::string_view marker) {
    return std::ranges::search(bytes, text_bytes(marker)).begin() - bytes.begin();
  };
  const auto scan = find(jpeg, "\xff\xda");
  auto stray = jpeg;
  stray.insert(stray.begin() + scan, std::byte{0x55});
  expect(stray, DctRefusal::irregular_header);
  auto restart = jpeg;
  restart.insert(restart.begin() + scan, {std::byte{0xFF}, std::byte{0xD0}});
  expect(restart, DctRefusal::irregular_header);
  auto part = jpeg;  // "coefficients 0 to 5"
  part[static_cast<size_t>(scan) + 4 + 8] = std::byte{5};
  expect(part, DctRefusal::irregular_header);
  // As a picture of an MJPEG film: its tables are the usual ones.
  auto without_tables = jpeg;
  for (int i = 0; i < 4; ++i) {
    const auto table = without_tables.begin() + find(without_tables, "\xff\xc4");
    const auto length = std::to_integer<ptrdiff_t>(table[2]) * 256 + std::to_integer<int>(table[3]);
    without_tables.erase(table, table + 2 + length);
  }
  expect(without_tables, DctRefusal::no_tables);
  EXPECT_EQ(testing::copy(ImageDecoder().decode(without_tables)).rgb,
            testing::copy(ImageDecoder().decode(jpeg)).rgb);
}

TEST(DctPicture, SaysWhyAPictureStaysAsItIs) {
  const auto picture = make_picture(60, 50);
  EXPECT_EQ(refusal_of({}), DctRefusal::not_jpeg);
  EXPECT_EQ(refusal_of(encode_png(picture.view())), DctRefusal::not_jpeg);
  EXPECT_EQ(refusal_of(encode_jpeg_as(picture, {.progressive = true})), DctRefusal::progressive);
  EXPECT_EQ(refusal_of(encode_jpeg_as(picture, {.arithmetic = true})), DctRefusal::arithmetic);
  EXPECT_EQ(refusal_of(encode_jpeg_as(picture, {.stored = JCS_CMYK})), DctRefusal::components);
  EXPECT_EQ(refusal_of(encode_jpeg_as(picture, {.stored = JCS_YCCK})), DctRefusal::components);
  EXPECT_EQ(refusal_of(encode_jpeg_as(picture, {.restart_interval = 4})),
            DctRefusal::restart_markers);
  const auto jpeg = encode_jpeg(picture.view());
  const auto frame =
      static_cast<size_t>(std::ranges::search(jpeg, text_bytes("\xff\xc0")).begin() - jpeg.begin());
  const auto with = [&](size_t at, int value) {
    auto other = jpeg;
    other[at] = static_cast<std::byte>(value);
    return other;
  };
  for (const int kind : {0xC3, 0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF}) {
    EXPECT_EQ(refusal_of(with(frame + 1, kind)), DctRefusal::lossless) << kind;
  }
  EXPECT_EQ(refusal_of(with(frame + 4, 12)), DctRefusal::precision);
  // A scan of one component of three.
  auto scans = jpeg;
  const auto scan = std::ranges::search(scans, text_bytes("\xff\xda")).begin();
  scan[3] = std::byte{8};
  scan[4] = std::byte{1};
  scans.erase(scan + 7, scan + 11);
  EXPECT_EQ(refusal_of(scans), DctRefusal::several_scans);
  std::vector<std::byte> dct;
  ASSERT_FALSE(encode_dct_picture(jpeg, dct));
  EXPECT_EQ(refusal_of(dct), DctRefusal::not_jpeg);
  for (const auto refusal :
       {DctRefusal::not_jpeg, DctRefusal::progressive, DctRefusal::arithmetic, DctRefusal::lossless,
        DctRefusal::precision, DctRefusal::components, DctRefusal::several_scans,
        DctRefusal::restart_markers, DctRefusal::no_tables, DctRefusal::irregular_header,
        DctRefusal::unused_bytes, DctRefusal::damaged, DctRefusal::not_exact,
        DctRefusal::too_large}) {
    EXPECT_FALSE(to_string(refusal).empty());
  }
}

TEST(DctPicture, RefusesWhatIsNotMadeAgainToTheByte) {
  auto jpeg =
      encode_jpeg_as({8, 8, std::vector<uint8_t>(8 * 8 * 3, 128)}, {.stored = JCS_GRAYSCALE});
  // The scan: 00 for the DC difference 0, 1010 for the end of the block, ones.
  ASSERT_EQ(jpeg[jpeg.size() - 3], std::byte{0x2B});
  ASSERT_FALSE(refusal_of(jpeg));
  // With 11111111001, sixteen zeros, before the end, which no encoder needs.
  const std::array scan = {std::byte{0x3F}, std::byte{0xCD}, std::byte{0x7F}};
  jpeg.erase(jpeg.end() - 3);
  jpeg.insert(jpeg.end() - 2, scan.begin(), scan.end());
  EXPECT_EQ(refusal_of(jpeg), DctRefusal::not_exact);
}

TEST(DctPicture, RefusesDamagedFiles) {
  const auto jpeg = encode_jpeg(make_picture(30, 20).view());
  for (size_t size = 3; size < jpeg.size(); ++size) {
    EXPECT_EQ(refusal_of({jpeg.begin(), jpeg.begin() + static_cast<ptrdiff_t>(size)}),
              DctRefusal::damaged)
        << size;
  }
  // Wherever a byte is wrong, the file is refused, or it comes back as it is.
  for (size_t i = 0; i < jpeg.size(); ++i) {
    for (const int bits : {0x01, 0xFF}) {
      auto broken = jpeg;
      broken[i] ^= static_cast<std::byte>(bits);
      if (!refusal_of(broken)) expect_round_trip(broken, "changed at " + std::to_string(i));
    }
  }
}

// Does all that is done with pictures; they may be broken.
void use(ImageDecoder& decoder, std::span<const std::byte> dct) {
  const auto attempt = [](const auto& step) {
    try {
      step();
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported)
          << error.what();
      return false;
    }
  };
  attempt([&] { (void)decode_dct_to_jpeg(dct); });
  ImageInfo info;
  if (!attempt([&] { info = decoder.read_info(dct); })) return;
  if (int64_t{info.width} * info.height > 1 << 20) return;
  attempt([&] { decoder.decode(dct); });
  attempt([&] { decoder.decode_region(dct, {info.width / 2, info.height / 2, 1, 1}, 0, 0); });
  attempt([&] { decoder.decode_region(dct, {0, 0, info.width, info.height}, info.width / 8, 1); });
}

TEST(DctPicture, SurvivesAnyDamage) {
  ImageDecoder decoder;
  for (const auto& jpeg : {encode_jpeg_as(testing::make_noise(19, 17), {.quality = 100}),
                           encode_jpeg_as(make_picture(40, 30), {.stored = JCS_GRAYSCALE})}) {
    std::vector<std::byte> dct;
    ASSERT_FALSE(encode_dct_picture(jpeg, dct));
    for (size_t size = 0; size < dct.size(); ++size) {
      // In memory of its own, so that AddressSanitizer sees what is read behind it.
      const std::vector<std::byte> cut(dct.begin(), dct.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_THROW((void)decode_dct_to_jpeg(cut), Error) << size;
      use(decoder, cut);
    }
    for (size_t i = 0; i < dct.size(); ++i) {
      for (const int bits : {0x01, 0x10, 0x80, 0xFF}) {
        auto broken = dct;
        broken[i] ^= static_cast<std::byte>(bits);
        use(decoder, broken);
      }
    }
  }
}

TEST(DctPicture, NamesWhatIsBroken) {
  std::vector<std::byte> dct;
  ASSERT_FALSE(encode_dct_picture(encode_jpeg(make_picture(60, 50).view()), dct));
  const auto decode = [&](size_t at, int value) {
    auto broken = dct;
    broken[at] = static_cast<std::byte>(value);
    return decode_dct_to_jpeg(broken);
  };
  EXPECT_ERROR(decode(0, 0), corrupt);
  EXPECT_ERROR(decode(6, 2), unsupported);
  EXPECT_ERROR(decode(8, 0xEE), corrupt);
  EXPECT_ERROR(decode(24, 2), corrupt);
  EXPECT_ERROR(decode(28, 0xFF), corrupt);
}

}  // namespace
}  // namespace ffkit
