#include <nlohmann/json.hpp>

#include "image_prelude.h"
#include "resize/resample_passes.h"
#include "transform/picture_scaler.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::read_bytes;

constexpr ImageOutput kU8Output{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

size_t num_values(const ImageSize& size) {
  return static_cast<size_t>(3 * size.height * size.width);
}

Picture run_transform(const ImageTransform& transform, const std::vector<std::byte>& image,
                      const SampleKey& key = {}) {
  const ImageSize size = image_size(transform);
  Picture out{int(size.width), int(size.height), std::vector<uint8_t>(num_values(size), 7)};
  PipelineTimes times;
  ImagePipeline({.transform = transform, .output = kU8Output})
      .run(image, key, out.rgb.data(), times);
  return out;
}

struct Difference {
  int max = 0;
  double mean = 0;
};
Difference difference(const Picture& a, const Picture& b) {
  Difference result;
  EXPECT_EQ(a.rgb.size(), b.rgb.size());
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    const int d = std::abs(int(a.rgb[i]) - int(b.rgb[i]));
    result.max = std::max(result.max, d);
    result.mean += d / static_cast<double>(a.rgb.size());
  }
  return result;
}

// A key whose crop of such an image is `wanted` by the caller's test.
template <typename Wanted>
SampleKey find_key(const RandomResizedCrop& options, int width, int height, const Wanted& wanted) {
  for (SampleKey key{.seed = 3}; key.record_index < 1000000; ++key.record_index) {
    CounterRandom random(key);
    if (wanted(draw_crop(options, width, height, random))) return key;
  }
  ADD_FAILURE() << "no key gives the wanted crop";
  return {};
}

TEST(ImagePipeline, IsTheSameForTheSameKeyWhateverRanBefore) {
  const auto image = encode_jpeg(make_picture(300, 200).view());
  const auto other = encode_jpeg(make_picture(777, 500).view());
  const RandomResizedCrop options{.size = 64};
  const SampleKey key{5, 6, 7};
  const Picture expected = run_transform(options, image, key);
  ImagePipeline pipeline({.transform = options, .output = kU8Output});
  PipelineTimes times;
  Picture out = expected;
  for (int64_t i = 0; i < 5; ++i) {
    pipeline.run(other, {5, 6, 100 + i}, out.rgb.data(), times);
    EXPECT_NE(out.rgb, expected.rgb);
    pipeline.run(image, key, out.rgb.data(), times);
    EXPECT_EQ(out.rgb, expected.rgb);
  }
  Picture in_thread = expected;
  in_thread.rgb.assign(in_thread.rgb.size(), 0);
  std::thread([&] { in_thread = run_transform(options, image, key); }).join();
  EXPECT_EQ(in_thread.rgb, expected.rgb);
  EXPECT_GT(times.decode_ns, 0);
  EXPECT_GT(times.transform_ns, 0);
}

TEST(ImagePipeline, EveryPartOfTheKeyChangesTheView) {
  const auto image = encode_jpeg(make_picture(300, 200).view());
  const RandomResizedCrop options{.size = 64};
  const Picture base = run_transform(options, image, {1, 1, 1});
  EXPECT_NE(run_transform(options, image, {2, 1, 1}).rgb, base.rgb);
  EXPECT_NE(run_transform(options, image, {1, 2, 1}).rgb, base.rgb);
  EXPECT_NE(run_transform(options, image, {1, 1, 2}).rgb, base.rgb);
}

TEST(ImagePipeline, AFullCropAtTheSameSizeIsTheDecodedImage) {
  const auto image = encode_jpeg(make_picture(96, 96).view());
  const Picture decoded = copy(ImageDecoder().decode(image));
  RandomResizedCrop options{.size = 96, .scale_min = 1, .ratio_min = 1, .ratio_max = 1};
  options.flip_probability = 0;
  EXPECT_EQ(run_transform(options, image).rgb, decoded.rgb);
  options.flip_probability = 1;
  const Picture flipped = run_transform(options, image);
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 96; ++x) {
      ASSERT_EQ(std::memcmp(flipped.at(95 - x, y), decoded.at(x, y), 3), 0);
    }
  }
  EXPECT_EQ(run_transform(ResizeCenterCrop{.resize = 96, .size = 96}, image).rgb, decoded.rgb);
}

TEST(ImagePipeline, CentreCropWithoutResizeIsThatPartOfTheImage) {
  const auto image = encode_jpeg(make_picture(140, 100).view());
  const Picture decoded = copy(ImageDecoder().decode(image));
  const Picture out = run_transform(ResizeCenterCrop{.resize = 100, .size = 60}, image);
  for (int y = 0; y < 60; ++y) {
    ASSERT_EQ(std::memcmp(out.at(0, y), decoded.at(40, 20 + y), 180), 0) << y;
  }
}

TEST(ImagePipeline, PadsSmallImagesWithBlack) {
  const auto image = encode_jpeg(make_picture(50, 40).view());
  const Picture decoded = copy(ImageDecoder().decode(image));
  const Picture out = run_transform(ResizeCenterCrop{.resize = 40, .size = 64}, image);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      const bool inside = x >= 7 && x < 57 && y >= 12 && y < 52;
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(out.at(x, y)[c], inside ? decoded.at(x - 7, y - 12)[c] : 0) << x << "," << y;
      }
    }
  }
}

TEST(ImagePipeline, ScaledDecodeShowsTheSameView) {
  // Large enough for every scale; smooth, so that only a wrong place could make a difference.
  Picture ramp{1400, 1100, {}};
  for (int y = 0; y < ramp.height; ++y) {
    for (int x = 0; x < ramp.width; ++x) {
      ramp.rgb.push_back(uint8_t(x * 255 / 1400));
      ramp.rgb.push_back(uint8_t(y * 255 / 1100));
      ramp.rgb.push_back(90);
    }
  }
  const auto image = encode_jpeg(ramp.view(), 95);
  for (const ImageSize size : {ImageSize(64), ImageSize(30, 110)}) {
    for (const auto filter : {Interpolation::bilinear, Interpolation::bicubic}) {
      const RandomResizedCrop scaled{.size = size, .interpolation = filter};
      RandomResizedCrop exact = scaled;
      exact.scaled_decode = false;
      for (int64_t i = 0; i < 20; ++i) {
        const SampleKey key{1, 0, i};
        const Difference d =
            difference(run_transform(scaled, image, key), run_transform(exact, image, key));
        EXPECT_LE(d.max, 3) << i;
        EXPECT_LT(d.mean, 0.6) << i;
      }
    }
  }
}

TEST(ImagePipeline, ScaledDecodeIsNotUsedWhenItWouldBeTooSmall) {
  const auto image = encode_jpeg(make_picture(400, 300).view());
  RandomResizedCrop options{.size = 224};
  const SampleKey key = find_key(options, 400, 300, [](const DrawnCrop& crop) {
    return crop.rect.width < 448 && crop.rect.height > 230;
  });
  RandomResizedCrop exact = options;
  exact.scaled_decode = false;
  EXPECT_EQ(run_transform(options, image, key).rgb, run_transform(exact, image, key).rgb);
}

TEST(ImagePipeline, ThrowsForBrokenImagesAndGoesOn) {
  const auto image = encode_jpeg(make_picture(120, 90).view());
  ImagePipeline pipeline(
      {.transform = ResizeCenterCrop{.resize = 64, .size = 56}, .output = kU8Output});
  std::vector<uint8_t> out(56 * 56 * 3);
  PipelineTimes times;
  EXPECT_THROW(pipeline.run(std::span(image).first(image.size() / 3), {}, out.data(), times),
               Error);
  EXPECT_NO_THROW(pipeline.run(image, {}, out.data(), times));
}

TEST(ImagePipeline, TruncatedImagesFailWhateverTheCrop) {
  const Picture picture = make_picture(120, 90);
  for (const auto& image : {encode_jpeg(picture.view()), encode_png(picture.view())}) {
    const std::vector<std::byte> cut(image.begin(), image.end() - std::ssize(image) / 4);
    for (int64_t record = 0; record < 40; ++record) {
      const SampleKey key{.seed = 1, .record_index = record};
      EXPECT_THROW(run_transform(RandomResizedCrop{.size = 16}, cut, key), Error) << record;
      EXPECT_NO_THROW(run_transform(RandomResizedCrop{.size = 16}, image, key)) << record;
    }
    EXPECT_THROW(run_transform(RandomCrop{.size = 8, .padding = 4, .pad_if_needed = true}, cut),
                 Error);
  }
}

TEST(ImagePipeline, ThinImagesAreResizedAsFarAsIntegersReach) {
  constexpr int kLong = 1'000'000;
  for (const bool tall : {true, false}) {
    const auto image = encode_png(make_picture(tall ? 1 : kLong, tall ? kLong : 1).view());
    for (const int64_t resize : {2148, 8192}) {
      EXPECT_ERROR(run_transform(ResizeCenterCrop{.resize = resize, .size = 8}, image),
                   unsupported);
    }
    EXPECT_EQ(run_transform(ResizeCenterCrop{.resize = 2147, .size = 8}, image).rgb.size(), 192U);
    EXPECT_EQ(run_transform(RandomResizedCrop{.size = 8}, image).rgb.size(), 192U);
    EXPECT_EQ(run_transform(Resize{.size = {8, 8}}, image).rgb.size(), 192U);
    EXPECT_EQ(run_transform(RandomCrop{.size = 8, .padding = 8192, .pad_if_needed = true}, image)
                  .rgb.size(),
              192U);
    EXPECT_EQ(
        run_transform(ResizeCrop{.size = 8, .factor_min = 16, .factor_max = 16}, image).rgb.size(),
        192U);
  }
}

nlohmann::json read_json(const std::filesystem::path& path) {
  const auto text = read_bytes(path);
  const auto* begin = reinterpret_cast<const char*>(text.data());
  return nlohmann::json::parse(begin, begin + text.size());
}

// References by torchvision on Pillow, as lossless PNGs.
TEST(ImagePipeline, EvaluationAgreesWithTorchvision) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "transforms");
  const auto expected = read_json(folder / "expected.json");
  ASSERT_EQ(expected["cases"].size(), 8U);
  for (const auto& item : expected["cases"]) {
    const auto name = item["image"].get<std::string>();
    SCOPED_TRACE(name);
    const auto reference_file = item["files"]["resize256_center224"].get<std::string>();
    const Picture reference = copy(ImageDecoder().decode(read_bytes(folder / reference_file)));
    const Picture got = run_transform(ResizeCenterCrop{}, read_bytes(folder / name));
    EXPECT_EQ(difference(got, reference).max, 0);
  }
}

struct CropReference {
  const char* file;
  Interpolation interpolation;
};

class CropsAgree : public ::testing::TestWithParam<CropReference> {};

TEST_P(CropsAgree, WithTorchvision) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "transforms");
  const auto expected = read_json(folder / "expected.json");
  int worst_max = 0;
  for (const auto& item : expected["cases"]) {
    const auto name = item["image"].get<std::string>();
    SCOPED_TRACE(name);
    const auto image = read_bytes(folder / name);
    const auto reference_file = item["files"][GetParam().file].get<std::string>();
    const Picture reference = copy(ImageDecoder().decode(read_bytes(folder / reference_file)));
    const auto& crop = item["crop"];
    const int width = item["width"];
    const int height = item["height"];
    // Narrow ranges and many keys make the pipeline draw just this crop.
    const Rect wanted{crop["left"], crop["top"], crop["width"], crop["height"]};
    const double share = double(wanted.width) * wanted.height / (double(width) * height);
    const double ratio = double(wanted.width) / wanted.height;
    RandomResizedCrop options{.scale_min = share,
                              .scale_max = share,
                              .ratio_min = ratio,
                              .ratio_max = ratio,
                              .flip_probability = 0};
    options.interpolation = GetParam().interpolation;
    options.scaled_decode = false;
    const SampleKey key = find_key(options, width, height, [&](const DrawnCrop& drawn) {
      return drawn.rect.x == wanted.x && drawn.rect.y == wanted.y &&
             drawn.rect.width == wanted.width && drawn.rect.height == wanted.height;
    });
    EXPECT_EQ(difference(run_transform(options, image, key), reference).max, 0);
    options.scaled_decode = true;
    const Difference scaled = difference(run_transform(options, image, key), reference);
    worst_max = std::max(worst_max, scaled.max);
  }
  // These crops are too small to be scaled; what scaling does is measured on real photographs.
  EXPECT_EQ(worst_max, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Filters, CropsAgree,
    ::testing::Values(CropReference{"crop_224_bilinear", Interpolation::bilinear},
                      CropReference{"crop_224_bicubic", Interpolation::bicubic}),
    [](const auto& test) { return std::string(test.param.file); });

TEST(ImagePipeline, ResizeMakesAnyShapeOfTheWholeImage) {
  const auto image = encode_jpeg(make_picture(90, 61).view());
  const Picture decoded = copy(ImageDecoder().decode(image));
  EXPECT_EQ(run_transform(Resize{.size = {61, 90}}, image).rgb, decoded.rgb);
  for (const auto filter : {Interpolation::bilinear, Interpolation::bicubic}) {
    for (const ImageSize size : {ImageSize(30, 100), ImageSize(1, 1), ImageSize(200, 3)}) {
      const auto height = int(size.height);
      const auto width = int(size.width);
      AxisFilter filter_x;
      AxisFilter filter_y;
      filter_x.build(90, 0, 90, width, 0, width, filter);
      filter_y.build(61, 0, 61, height, 0, height, filter);
      Picture source = decoded;
      source.rgb.resize(source.rgb.size() + 64);
      std::vector<uint8_t> expected(num_values(size));
      Resizer(size, kU8Output)
          .run(source.at(filter_x.begin(), filter_y.begin()), 270, filter_x, filter_y, false, 0, 0,
               expected.data(), is_vertical_first(90, 61, width, height));
      EXPECT_EQ(run_transform(Resize{size, filter}, image).rgb, expected);
    }
  }
}

// What RandomCrop must show, pixel by pixel.
Picture expected_crop(const Picture& image, const DrawnCrop& crop, RgbColor fill) {
  Picture out{crop.rect.width, crop.rect.height, {}};
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const int from_x = crop.rect.x + (crop.flip ? out.width - 1 - x : x);
      const int from_y = crop.rect.y + y;
      const bool inside =
          from_x >= 0 && from_x < image.width && from_y >= 0 && from_y < image.height;
      const uint8_t* pixel = inside ? image.at(from_x, from_y) : fill.data();
      out.rgb.insert(out.rgb.end(), pixel, pixel + 3);
    }
  }
  return out;
}

TEST(ImagePipeline, RandomCropTakesPixelsAsTheyAre) {
  const RgbColor fill{10, 20, 30};
  for (const auto& [width, height] : {std::pair(32, 32), std::pair(1, 1), std::pair(70, 5)}) {
    const auto image = encode_png(make_picture(width, height).view());
    for (const RandomCrop& options :
         {RandomCrop{.size = 32, .padding = 4, .pad_if_needed = true, .fill = fill},
          RandomCrop{.size = {9, 40}, .pad_if_needed = true},
          RandomCrop{.size = 1, .pad_if_needed = true, .fill = fill},
          RandomCrop{.size = 2, .padding = 50, .pad_if_needed = true, .fill = fill}}) {
      for (int64_t i = 0; i < 12; ++i) {
        const SampleKey key{1, 2, i};
        CounterRandom random(key);
        const DrawnCrop crop = draw_crop(options, width, height, random);
        EXPECT_EQ(run_transform(options, image, key).rgb,
                  expected_crop(make_picture(width, height), crop, options.fill).rgb);
      }
    }
  }
}

}  // namespace
}  // namespace ffkit
