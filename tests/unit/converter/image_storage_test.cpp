#include <nlohmann/json.hpp>

#include <ffkit/converter/image_storage.h>
#include <ffkit/format/record.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_resizer.h>
#include <ffkit/sources/demo.h>

#include "converter_prelude.h"
#include "encode_for_test.h"
#include "little_memory.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::encode_jpeg_as;
using testing::make_picture;
using testing::Picture;

using Bytes = std::vector<std::byte>;

Bytes stored_bytes(const ImageStorer::Stored& stored) {
  return {stored.bytes.begin(), stored.bytes.end()};
}

// "reason: action" of each problem.
std::vector<std::string> problems(const SampleBuffers& buffers) {
  std::vector<std::string> texts;
  for (const SampleProblem& problem : buffers.problems()) {
    texts.push_back(problem.reason + ": " + problem.action);
  }
  return texts;
}

Picture pixels_of(std::span<const std::byte> image) {
  ImageDecoder decoder;
  return copy(decoder.decode(image));
}

TEST(StoredSize, LimitsTheLongerOrTheShorterSide) {
  const auto longer = [](int width, int height) {
    return stored_size({.max_resolution = 400}, {width, height});
  };
  EXPECT_EQ(longer(500, 375), (PixelSize{400, 300}));
  EXPECT_EQ(longer(375, 500), (PixelSize{300, 400}));
  EXPECT_EQ(longer(400, 400), (PixelSize{400, 400}));
  EXPECT_EQ(longer(401, 401), (PixelSize{400, 400}));
  EXPECT_EQ(longer(399, 1), (PixelSize{399, 1}));
  EXPECT_EQ(longer(60000, 3), (PixelSize{400, 1}));
  EXPECT_EQ(longer(500, 334), (PixelSize{400, 267}));  // 267.2
  EXPECT_EQ(longer(500, 339), (PixelSize{400, 271}));  // 271.2
  EXPECT_EQ(longer(500, 333), (PixelSize{400, 266}));  // 266.4
  EXPECT_EQ(longer(500, 332), (PixelSize{400, 265}));  // 265.6, as torchvision: down
  const auto shorter = [](int width, int height) {
    return stored_size({.short_side = 256}, {width, height});
  };
  EXPECT_EQ(shorter(500, 375), (PixelSize{341, 256}));  // 341.3
  EXPECT_EQ(shorter(375, 500), (PixelSize{256, 341}));
  EXPECT_EQ(shorter(2000, 256), (PixelSize{2000, 256}));
  EXPECT_EQ(shorter(100, 2000), (PixelSize{100, 2000}));
  EXPECT_EQ(stored_size({}, {9000, 7}), (PixelSize{9000, 7}));
}

TEST(ImageStorage, RefusesWhatCannotBeMeant) {
  EXPECT_ERROR(validate(ImageStorage{.max_resolution = 400, .short_side = 256}), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(validate(ImageStorage{.max_resolution = -1}), invalid_argument, .subject = argument);
  EXPECT_ERROR(validate(ImageStorage{.short_side = 65501}), invalid_argument, .subject = argument);
  EXPECT_ERROR(validate(ImageStorage{.jpeg_quality = 0}), invalid_argument, .subject = argument);
  EXPECT_ERROR(validate(ImageStorage{.raw_share = 1.5}), invalid_argument, .subject = argument);
  EXPECT_ERROR(validate(ImageStorage{.raw_share = std::nan("")}), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(ImageStorer(ImageStorage{.jpeg_quality = 101}), invalid_argument,
               .subject = argument);
  for (const StoreAs store : {StoreAs::jpeg, StoreAs::dct, StoreAs::raw, StoreAs::smart}) {
    EXPECT_EQ(from_name<StoreAs>(to_string(store)), store);
  }
  for (const ImageCheck check : {ImageCheck::header, ImageCheck::decode}) {
    EXPECT_EQ(from_name<ImageCheck>(to_string(check)), check);
  }
  EXPECT_ERROR(from_name<StoreAs>("png"), invalid_argument);
  for (const StoreAs store : {StoreAs::jpeg, StoreAs::dct}) {
    EXPECT_EQ(as_they_are(store).store, store);
  }
  EXPECT_ERROR(as_they_are(StoreAs::raw), invalid_argument);
  EXPECT_ERROR(from_name<ImageCheck>(""), invalid_argument);
}

TEST(ImageStorage, TellsTheManifestWhatChangesBytes) {
  EXPECT_THAT(manifest_options({}), IsEmpty());
  EXPECT_THAT(manifest_options({.max_resolution = 400, .jpeg_quality = 80}),
              ElementsAre(Pair("jpeg_quality", "80"), Pair("max_resolution", "400")));
  EXPECT_THAT(manifest_options({.short_side = 256, .store = StoreAs::raw}),
              ElementsAre(Pair("short_side", "256"), Pair("store", "raw")));
  EXPECT_THAT(
      manifest_options({.store = StoreAs::smart, .raw_share = 0.25, .check = ImageCheck::decode}),
      ElementsAre(Pair("check_images", "decode"), Pair("raw_share", "0.25"),
                  Pair("store", "smart")));
  EXPECT_THAT(manifest_options({.fix_odd = true}),
              ElementsAre(Pair("fix_odd", "true"), Pair("jpeg_quality", "90")));
}

TEST(ImageStorer, LeavesTheBytesOfWhatIsWithinTheLimits) {
  const Bytes jpeg = encode_jpeg(make_picture(120, 80).view());
  const Bytes png = encode_png(make_picture(120, 80).view());
  SampleBuffers buffers;
  for (const ImageStorage& storage :
       {ImageStorage{}, ImageStorage{.max_resolution = 120}, ImageStorage{.short_side = 80},
        ImageStorage{.max_resolution = 120, .check = ImageCheck::decode},
        ImageStorage{.store = StoreAs::smart, .raw_share = 0}}) {
    const ImageStorer storer(storage);
    for (const Bytes& image : {jpeg, png}) {
      const auto stored = storer.store(image, "id", buffers);
      EXPECT_EQ(stored.bytes.data(), image.data());  // not even copied
      EXPECT_EQ(stored.bytes.size(), image.size());
      EXPECT_EQ(stored.original, (PixelSize{120, 80}));
      EXPECT_EQ(stored.size, (PixelSize{120, 80}));
    }
  }
  const ImageStorer fixing({.fix_odd = true});
  EXPECT_EQ(fixing.store(jpeg, "id", buffers).bytes.data(), jpeg.data());
  EXPECT_THAT(problems(buffers), IsEmpty());
}

TEST(ImageStorer, MakesLargePicturesSmaller) {
  const Picture picture = make_picture(300, 200);
  const Bytes jpeg = encode_jpeg(picture.view());
  SampleBuffers buffers;
  const auto stored =
      ImageStorer({.max_resolution = 150, .jpeg_quality = 70}).store(jpeg, "id", buffers);
  EXPECT_EQ(stored.original, (PixelSize{300, 200}));
  EXPECT_EQ(stored.size, (PixelSize{150, 100}));
  ImageDecoder decoder;
  ImageResizer resizer;
  EXPECT_EQ(stored_bytes(stored), encode_jpeg(resizer.resize(decoder.decode(jpeg), 150, 100), 70));
  EXPECT_THAT(problems(buffers), IsEmpty());
  const auto raw =
      ImageStorer({.short_side = 50, .store = StoreAs::raw}).store(jpeg, "id", buffers);
  EXPECT_EQ(raw.size, (PixelSize{75, 50}));
  EXPECT_EQ(pixels_of(raw.bytes).rgb, copy(resizer.resize(decoder.decode(jpeg), 75, 50)).rgb);
}

TEST(ImageStorer, StoresRawPixels) {
  const Bytes jpeg = encode_jpeg(make_picture(90, 61).view());
  SampleBuffers buffers;
  const ImageStorer storer({.store = StoreAs::raw, .fix_odd = true});
  const Bytes raw = stored_bytes(storer.store(jpeg, "id", buffers));
  EXPECT_EQ(detect_image_encoding(raw), ImageEncoding::ppm);
  EXPECT_EQ(raw.size(), 3 * 90 * 61 + 13U);
  EXPECT_EQ(pixels_of(raw).rgb, pixels_of(jpeg).rgb);
  EXPECT_EQ(storer.store(raw, "id", buffers).bytes.data(), raw.data());  // raw already
  EXPECT_THAT(problems(buffers), IsEmpty());
}

TEST(ImageStorer, DrawsTheShareThatIsRawFromSeedAndId) {
  const Bytes jpeg = encode_jpeg(make_picture(4, 4).view());
  const auto draw = [&](uint64_t seed, double share) {
    const ImageStorer storer({.store = StoreAs::smart, .raw_share = share});
    SampleBuffers buffers;
    buffers.set_seed(seed);
    std::vector<bool> is_raw;
    for (int i = 0; i < 4000; ++i) {
      const std::string id = "class/picture" + std::to_string(i) + ".jpg";
      is_raw.push_back(storer.store(jpeg, id, buffers).bytes.data() != jpeg.data());
      buffers.clear();
    }
    return is_raw;
  };
  const auto share_of = [](const std::vector<bool>& is_raw) {
    return static_cast<double>(std::count(is_raw.begin(), is_raw.end(), true)) /
           static_cast<double>(is_raw.size());
  };
  const auto third = draw(7, 0.3);
  EXPECT_NEAR(share_of(third), 0.3, 0.03);  // four standard deviations
  EXPECT_EQ(third, draw(7, 0.3));
  EXPECT_NE(third, draw(8, 0.3));
  EXPECT_EQ(share_of(draw(7, 0)), 0);
  EXPECT_EQ(share_of(draw(7, 1)), 1);
}

TEST(ImageStorer, FixesWhatIsNoPlainJpeg) {
  const Picture picture = make_picture(40, 30);
  const ImageStorer storer({.jpeg_quality = 95, .fix_odd = true});
  const std::pair<std::string, Bytes> odd[] = {
      {"is a PNG", encode_png(picture.view())},
      {"is a CMYK JPEG", encode_jpeg_as(picture, {.stored = JCS_CMYK})},
      {"is a CMYK JPEG", encode_jpeg_as(picture, {.stored = JCS_YCCK})}};
  for (const auto& [reason, image] : odd) {
    SampleBuffers buffers;
    const auto stored = storer.store(image, "id", buffers);
    const ImageInfo info = read_image_info(stored.bytes);
    EXPECT_EQ(info.encoding, ImageEncoding::jpeg);
    EXPECT_EQ(info.num_components, 3);
    ImageDecoder decoder;
    EXPECT_EQ(stored_bytes(stored), encode_jpeg(decoder.decode(image), 95));
    EXPECT_THAT(problems(buffers), ElementsAre(reason + ": re-encoded as JPEG"));
  }
  SampleBuffers buffers;
  const Bytes grey = encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE});
  const Bytes progressive = encode_jpeg_as(picture, {.progressive = true});
  EXPECT_EQ(storer.store(grey, "id", buffers).bytes.data(), grey.data());
  EXPECT_EQ(storer.store(progressive, "id", buffers).bytes.data(), progressive.data());
  EXPECT_THAT(problems(buffers), IsEmpty());
}

TEST(ImageStorer, StoresTheDctCodeOfJpegs) {
  const Picture picture = make_picture(120, 80);
  const Bytes jpeg = encode_jpeg(picture.view());
  const ImageStorer storer({.store = StoreAs::dct});
  SampleBuffers buffers;
  const auto stored = storer.store(jpeg, "id", buffers);
  EXPECT_EQ(detect_image_encoding(stored.bytes), ImageEncoding::dct);
  EXPECT_EQ(decode_dct_to_jpeg(stored.bytes), jpeg);
  EXPECT_EQ(stored.size, (PixelSize{120, 80}));
  // What has it already is left alone, and may be resized.
  const Bytes code = stored_bytes(stored);
  EXPECT_EQ(storer.store(code, "id", buffers).bytes.data(), code.data());
  const ImageStorage small{.max_resolution = 50, .jpeg_quality = 80};
  ImageStorage small_dct = small;
  small_dct.store = StoreAs::dct;
  const Bytes expected = stored_bytes(ImageStorer(small).store(jpeg, "id", buffers));
  for (const Bytes& image : {jpeg, code}) {
    const auto resized = ImageStorer(small_dct).store(image, "id", buffers);
    EXPECT_EQ(decode_dct_to_jpeg(resized.bytes), expected);
    EXPECT_EQ(resized.size, (PixelSize{50, 33}));
  }
  const ImageStorer fixing({.jpeg_quality = 80, .store = StoreAs::dct, .fix_odd = true});
  const auto fixed = fixing.store(encode_png(picture.view()), "id", buffers);
  EXPECT_EQ(decode_dct_to_jpeg(fixed.bytes), encode_jpeg(picture.view(), 80));
  EXPECT_THAT(problems(buffers), ElementsAre("is a PNG: re-encoded as JPEG"));
}

TEST(ImageStorer, KeepsAndReportsWhatHasNoDctCode) {
  const Picture picture = make_picture(64, 48);
  const ImageStorer storer({.store = StoreAs::dct});
  SampleBuffers buffers;
  const Bytes whole = encode_jpeg(picture.view());
  const Bytes cut(whole.begin(), whole.end() - 20);
  for (const Bytes& image :
       {encode_png(picture.view()), encode_jpeg_as(picture, {.progressive = true}),
        encode_jpeg_as(picture, {.restart_interval = 2}),
        encode_jpeg_as(picture, {.stored = JCS_CMYK}), cut}) {
    EXPECT_EQ(storer.store(image, "id", buffers, "left").bytes.data(), image.data());
    EXPECT_EQ(buffers.problems().back().picture, "left");
  }
  const std::string kept = std::string(": ") + kKeptWithoutDct;
  EXPECT_THAT(
      problems(buffers),
      ElementsAre("is not a JPEG" + kept, "is progressive" + kept, "is with restart markers" + kept,
                  "is neither grey nor of 3 components" + kept, "is damaged or cut" + kept));
}

// A PPM of 16 bits and 2 x 1 pixels.
Bytes wide_ppm() {
  Bytes image;
  for (const char c : std::string("P6 2 1 65535\n\x12\x34\0\1\xAB\xCD\0\0\0\0\0\0", 25)) {
    image.push_back(std::byte(c));
  }
  return image;
}

TEST(ImageStorer, SaysWhereSixteenBitsAreNotKept) {
  const Bytes image = wide_ppm();
  const std::string reason = std::string(kKept16Bits.reason) + ": ";
  SampleBuffers buffers;
  EXPECT_EQ(ImageStorer().store(image, "id", buffers).bytes.data(), image.data());
  EXPECT_THAT(problems(buffers), ElementsAre(reason + kKept16Bits.action));
  for (const ImageStorage& storage :
       {ImageStorage{.store = StoreAs::raw}, ImageStorage{.max_resolution = 1},
        ImageStorage{.fix_odd = true}}) {
    SampleBuffers changed;
    const auto stored = ImageStorer(storage).store(image, "id", changed);
    EXPECT_FALSE(read_image_info(stored.bytes).has_16_bits);
    EXPECT_EQ(problems(changed).front(), reason + kLost16Bits.action);
  }
}

// Raw is what encode_ppm() writes: text and other values are not.
TEST(ImageStorer, StoresEveryOtherPpmRaw) {
  const std::string text = "P3 1 1 255 1 2 3";
  const auto bytes = std::as_bytes(std::span(text));
  SampleBuffers buffers;
  const auto stored = ImageStorer({.store = StoreAs::raw}).store(bytes, "id", buffers);
  EXPECT_TRUE(read_image_info(stored.bytes).is_raw);
  EXPECT_THAT(problems(buffers), IsEmpty());
}

TEST(ImageStorer, ChecksHeadersOrAllPixels) {
  const Bytes jpeg = encode_jpeg(make_picture(200, 200).view());
  const std::span<const std::byte> half(jpeg.data(), jpeg.size() / 2);
  SampleBuffers buffers;
  EXPECT_NO_THROW(ImageStorer().store(half, "id", buffers));
  EXPECT_ERROR(ImageStorer({.check = ImageCheck::decode}).store(half, "id", buffers), corrupt);
  EXPECT_ERROR(ImageStorer({.max_resolution = 100}).store(half, "id", buffers), corrupt);
  EXPECT_ERROR(ImageStorer().store({}, "id", buffers), corrupt);
  EXPECT_THAT(problems(buffers), IsEmpty());
}

TEST(ImageStorer, KeepsBrokenPicturesAsTheyAre) {
  const Bytes jpeg = encode_jpeg(make_picture(200, 200).view());
  const std::span<const std::byte> half(jpeg.data(), jpeg.size() / 2);
  for (const ImageStorage& storage :
       {ImageStorage{.check = ImageCheck::decode}, ImageStorage{.max_resolution = 100},
        ImageStorage{.store = StoreAs::raw}}) {
    SampleBuffers buffers;
    buffers.set_bad_samples(BadSamples::keep);
    const auto stored = ImageStorer(storage).store(half, "id", buffers);
    EXPECT_EQ(stored.bytes.data(), half.data());
    EXPECT_EQ(stored.bytes.size(), half.size());
    EXPECT_EQ(stored.size, PixelSize{});
    ASSERT_EQ(buffers.problems().size(), 1U);
    EXPECT_TRUE(buffers.problems()[0].reason.starts_with("truncated JPEG"));
    EXPECT_EQ(buffers.problems()[0].action, "kept as it is");
  }
}

TEST(ImageStorer, RefusesHugeClaimsByTheHeaderAlone) {
  const std::string header = "P6 60000 60000 255\n";
  Bytes webp_like;
  for (const char c : header) webp_like.push_back(std::byte(c));
  SampleBuffers buffers;
  EXPECT_ERROR(ImageStorer({.store = StoreAs::raw}).store(webp_like, "id", buffers), corrupt);
  // A JPEG of libjpeg's largest size.
  Bytes jpeg = encode_jpeg(make_picture(16, 16).view());
  constexpr std::array kFrame = {std::byte{0xff}, std::byte{0xc0}};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), kFrame.begin(), kFrame.end());
  ASSERT_NE(frame, jpeg.end());
  frame[5] = frame[7] = std::byte{0xff};
  frame[6] = frame[8] = std::byte{0xdc};
  EXPECT_ERROR(ImageStorer().store(jpeg, "id", buffers), unsupported);
}

// It is not the picture that is bad: neither skipped nor kept as broken.
TEST(ImageStorer, WithoutMemoryAConversionFails) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const testing::TempDir dir;
  std::filesystem::create_directories(dir / "src/train/cat");
  const Bytes jpeg = testing::jpeg_that_claims(65000, 2600);  // half a gigabyte
  std::ofstream(dir / "src/train/cat/huge.jpg", std::ios::binary)
      .write(reinterpret_cast<const char*>(jpeg.data()), std::ssize(jpeg));
  for (const BadSamples bad_samples : {BadSamples::skip, BadSamples::keep}) {
    testing::expect_error_without_memory(
        400 << 20, "dst: there is not enough memory; .*give fewer num_threads", [&] {
          const auto source =
              open_image_folder(dir / "src", {.images = {.check = ImageCheck::decode}});
          convert(*source, dir / "dst", {.num_threads = 1, .bad_samples = bad_samples});
        });
  }
}

// Every odd picture that anyone has seen: JPEGs of three or one components come through as they
// are, others as JPEGs; what is broken is an error, or kept.
TEST(ImageStorer, TakesEveryHardImage) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "hard-images");
  const auto text = testing::read_bytes(folder / "expected.json");
  const auto expected =
      nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                            reinterpret_cast<const char*>(text.data()) + text.size());
  const ImageStorer fixing({.max_resolution = 64, .fix_odd = true, .check = ImageCheck::decode});
  const ImageStorer keeping({.max_resolution = 64});
  for (const auto& [name, facts] : expected.items()) {
    SCOPED_TRACE(name);
    const Bytes image = testing::read_bytes(folder / name);
    SampleBuffers buffers;
    // Its damage leaves a valid stream: only a checksum sees it.
    const bool decodes = facts["decodes"].get<bool>() || name == "bitrot.JPEG";
    if (!decodes) {
      EXPECT_THROW(fixing.store(image, "id", buffers), Error);
      buffers.set_bad_samples(BadSamples::keep);
      EXPECT_EQ(keeping.store(image, "id", buffers).bytes.data(), image.data());
      EXPECT_EQ(buffers.problems().size(), 1U);
      continue;
    }
    const auto stored = fixing.store(image, "id", buffers);
    const ImageInfo info = read_image_info(stored.bytes);
    EXPECT_EQ(info.encoding, ImageEncoding::jpeg);
    EXPECT_LE(std::max(info.width, info.height), 64);
    const ImageInfo original = read_image_info(image);
    const bool is_odd = original.encoding != ImageEncoding::jpeg || original.num_components == 4;
    EXPECT_EQ(buffers.problems().size(), (is_odd ? 1U : 0U) + (original.has_16_bits ? 1U : 0U));
  }
}

TEST(ImageStorage, GoesIntoRecordsAndManifestWhateverTheThreads) {
  const testing::TempDir dir;
  const DemoOptions demo{.num_classes = 3,
                         .num_train = 60,
                         .num_val = 0,
                         .size = 64,
                         .images = {.short_side = 32, .store = StoreAs::smart}};
  const auto converted = [&](const fs::path& folder, const ConvertOptions& options) {
    return convert(*make_demo(demo, options), folder, options);
  };
  std::string fingerprint;
  for (const int num_threads : {1, 4}) {
    const auto folder = dir / std::to_string(num_threads);
    const ConvertSummary summary = converted(folder, {.num_threads = num_threads, .seed = 5});
    if (fingerprint.empty()) fingerprint = summary.splits[0].fingerprint;
    EXPECT_EQ(summary.splits[0].fingerprint, fingerprint);
    const Dataset dataset = Dataset::open(folder, "train");
    EXPECT_EQ(dataset.manifest().options.at("short_side"), "32");
    EXPECT_EQ(dataset.manifest().options.at("store"), "smart");
    // The first number of each stored picture: 'P' of pixels, 0xff of a JPEG.
    std::string kinds;
    std::vector<std::byte> buffer;
    for (int64_t i = 0; i < dataset.num_records(); ++i) {
      dataset.read(i, buffer);
      const bool is_raw = RecordView(dataset.schema(), buffer).bytes(0)[0] == std::byte{'P'};
      kinds += is_raw ? 'P' : 'j';
    }
    EXPECT_EQ(kinds, "jjjjPjjPPjPjPPPjPPPjPjPPjjjjjPPPPPjPPPjjPPPjPjPjjjjjjjPjjjjP");
  }
  EXPECT_NE(converted(dir / "other", {.seed = 6}).splits[0].fingerprint, fingerprint);
}

TEST(ImageStorer, TellsTheMemoryThatAPictureTakes) {
  const auto memory_bytes = [](const ImageStorage& storage) {
    return ImageStorer(storage).memory_bytes(1000);
  };
  EXPECT_EQ(memory_bytes({}), 1000);
  EXPECT_EQ(memory_bytes({.store = StoreAs::dct}), 4000);
  EXPECT_EQ(memory_bytes({.store = StoreAs::raw}), 1000 + 24 * 1000);
  EXPECT_EQ(memory_bytes({.max_resolution = 10, .store = StoreAs::raw}), 1000 + 3 * 10 * 10);
  EXPECT_EQ(memory_bytes({.max_resolution = 500, .store = StoreAs::raw}), 1000 + 24 * 1000);
}

}  // namespace
}  // namespace ffkit
