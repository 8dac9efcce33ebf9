// What becomes of pictures that EXIF data turn, on their way into records.
#include <ffkit/converter/image_storage.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_resizer.h>
#include <ffkit/sources/nuscenes.h>
#include <ffkit/sources/registry.h>

#include "encode_for_test.h"
#include "test_images.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::exif_data;
using testing::make_picture;
using testing::Picture;
using testing::with_exif;

using Bytes = std::vector<std::byte>;

constexpr ImageStorage kApply = {.exif = ExifUse::apply};

struct Result {
  Bytes bytes;
  PixelSize original;
  PixelSize size;
  std::vector<std::string> problems;
};

Result store(const ImageStorage& storage, const Bytes& image) {
  const ImageStorer storer(storage);
  SampleBuffers buffers;
  const ImageStorer::Stored stored = storer.store(image, "id", buffers);
  Result result{{stored.bytes.begin(), stored.bytes.end()}, stored.original, stored.size, {}};
  for (const SampleProblem& problem : buffers.problems()) {
    result.problems.push_back(problem.reason + ": " + problem.action);
  }
  return result;
}

Picture upright(const Bytes& image, int orientation) {
  ImageDecoder decoder;
  std::vector<uint8_t> memory;
  return copy(turn_upright(decoder.decode(image), orientation, memory));
}

TEST(ExifUse, IgnoreKeepsTheBytes) {
  const Bytes image = with_exif(encode_jpeg(make_picture(40, 24).view()), exif_data(6, true));
  const Result result = store({}, image);
  EXPECT_EQ(result.bytes, image);
  EXPECT_EQ(result.size, (PixelSize{40, 24}));
  EXPECT_TRUE(result.problems.empty());
  EXPECT_FALSE(manifest_options(ImageStorage{}).contains("exif"));
}

TEST(ExifUse, ApplyStoresThePictureUpright) {
  const Bytes jpeg = encode_jpeg(make_picture(40, 24).view());
  const Bytes png = encode_png(make_picture(40, 24).view());
  for (int orientation = 2; orientation <= 8; ++orientation) {
    for (const Bytes& plain : {jpeg, png}) {
      const Bytes image = with_exif(plain, exif_data(orientation, orientation % 2 == 0));
      const Picture expected = upright(plain, orientation);
      const Result result = store(kApply, image);
      EXPECT_EQ(result.bytes, encode_jpeg(expected.view())) << orientation;
      EXPECT_EQ(result.size, (PixelSize{expected.width, expected.height}));
      EXPECT_EQ(result.original, result.size);
      EXPECT_THAT(result.problems,
                  ::testing::ElementsAre("has the EXIF orientation " + std::to_string(orientation) +
                                         ": turned upright and re-encoded as JPEG"));
      EXPECT_EQ(exif_orientation(result.bytes), 1);
    }
  }
  // Nothing to turn: the bytes stay.
  for (const Bytes& image : {jpeg, png, with_exif(jpeg, exif_data(1, true)),
                             with_exif(jpeg, exif_data(9, true)), with_exif(jpeg, "broken")}) {
    EXPECT_EQ(store(kApply, image).bytes, image);
    EXPECT_TRUE(store(kApply, image).problems.empty());
  }
}

TEST(ExifUse, ApplyGoesWithTheOtherOptions) {
  const Bytes plain = encode_jpeg(make_picture(40, 24).view());
  const Bytes image = with_exif(plain, exif_data(6, true));
  const Picture expected = upright(plain, 6);  // 24 x 40
  ImageStorage storage = kApply;
  storage.store = StoreAs::raw;
  Bytes raw;
  encode_ppm(expected.view(), raw);
  EXPECT_EQ(store(storage, image).bytes, raw);
  EXPECT_THAT(
      store(storage, image).problems,
      ::testing::ElementsAre("has the EXIF orientation 6: turned upright and encoded as pixels"));
  storage = kApply;
  storage.store = StoreAs::dct;
  EXPECT_EQ(decode_dct_to_jpeg(store(storage, image).bytes), encode_jpeg(expected.view()));
  // First upright, then smaller, as with Pillow.
  storage = kApply;
  storage.max_resolution = 20;
  const Result small = store(storage, image);
  ImageResizer resizer;
  EXPECT_EQ(small.bytes, encode_jpeg(resizer.resize(expected.view(), 12, 20)));
  EXPECT_EQ(small.original, (PixelSize{24, 40}));
  EXPECT_EQ(small.size, (PixelSize{12, 20}));
  storage = kApply;
  storage.fix_odd = true;
  EXPECT_THAT(
      store(storage, with_exif(encode_png(make_picture(9, 5).view()), exif_data(3, false)))
          .problems,
      ::testing::ElementsAre(
          "is a PNG and has the EXIF orientation 3: turned upright and re-encoded as JPEG"));
  EXPECT_EQ(manifest_options(kApply).at("exif"), "apply");
  EXPECT_EQ(manifest_options(kApply).at("jpeg_quality"), "90");
}

TEST(ExifUse, IsParsedAndRefusedWhereRecordsHavePlacesInPixels) {
  for (const ExifUse use : {ExifUse::ignore, ExifUse::apply}) {
    EXPECT_EQ(from_name<ExifUse>(to_string(use)), use);
  }
  EXPECT_ERROR(from_name<ExifUse>("turn"), invalid_argument);
  for (const SourceKind& kind : source_kinds()) {
    KindConversion conversion(kind);
    Option* const exif = conversion.table().find("exif");
    EXPECT_EQ(exif != nullptr, kind.takes_exif || kind.pictures == PictureUse::all) << kind.name;
    // (pairs wants its folders first.)
    if (exif == nullptr || conversion.table().find("folders") != nullptr) continue;
    exif->give(std::string("apply"));
    if (kind.takes_exif) {
      EXPECT_NO_THROW(conversion.check()) << kind.name;
    } else {
      EXPECT_ERROR(conversion.check(), invalid_argument, .subject = argument);
    }
  }
  EXPECT_ERROR(open_nuscenes("nowhere", {.images = kApply}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
