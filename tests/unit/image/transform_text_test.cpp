#include <ffkit/image/image_options.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

template <typename Options>
Options transform_of(std::string_view text) {
  return std::get<Options>(parse_transforms(text).transform);
}

TEST(TransformText, OneStepAloneIsTheTransform) {
  const auto crop = transform_of<RandomResizedCrop>(
      " RandomResizedCrop( 192, scale=(0.4, 1), interpolation='bicubic' ,scaled_decode = False,)");
  EXPECT_EQ(crop.size, ImageSize(192));
  EXPECT_EQ(crop.scale_min, 0.4);
  EXPECT_EQ(crop.scale_max, 1);
  EXPECT_EQ(crop.ratio_min, 3.0 / 4.0);
  EXPECT_EQ(crop.flip_probability, 0);
  EXPECT_FALSE(crop.scaled_decode);
  EXPECT_EQ(crop.interpolation, Interpolation::bicubic);
  EXPECT_EQ(transform_of<Resize>("Resize((20, 30))").size, ResizeSize(20, 30));
  EXPECT_EQ(transform_of<ScalePad>("ScalePad(factor=.25)").factor, 0.25);
  EXPECT_EQ(transform_of<RandomCrop>("RandomCrop(32, [1, 2, 3, 4])").padding, Padding(1, 2, 3, 4));
}

TEST(TransformText, SeveralStepsAreACompose) {
  const ImageOptions options = parse_transforms(
      "ColorJitter(0.4), RandomRotation((-5, 10), fill=(1, 2, 3)), RandomResizedCrop(96), "
      "Compose([RandomVerticalFlip(1)])");
  const std::vector<GeometryStep>& steps = std::get<Compose>(options.transform).steps;
  ASSERT_EQ(steps.size(), 3U);
  const auto& rotation = std::get<RandomRotation>(steps[0]);
  EXPECT_EQ(rotation.degrees.min, -5);
  EXPECT_EQ(rotation.degrees.max, 10);
  EXPECT_EQ(rotation.fill, (RgbColor{1, 2, 3}));
  EXPECT_EQ(std::get<RandomResizedCrop>(steps[1]).size, ImageSize(96));
  EXPECT_EQ(std::get<RandomVerticalFlip>(steps[2]).probability, 1);
  EXPECT_EQ(options.augmentations.size(), 1U);
  // A step that is no transform by itself, and a Compose of one that is.
  EXPECT_EQ(transform_of<Compose>("CenterCrop(5)").steps.size(), 1U);
  EXPECT_EQ(transform_of<Compose>("Compose([Resize(5)])").steps.size(), 1U);
}

TEST(TransformText, AugmentationsKeepTheirOrderAndStandInEachOther) {
  const ImageOptions options = parse_transforms(
      "Resize(8), Apply(0.1, GaussianBlur(23)), OneOf([Grayscale(3), Apply(1, [Invert(), "
      "Solarize(9.5)])], weights=[1, 3]), ColorJitter(hue=(-0.1, 0.2)), AutoAugment('svhn'), "
      "RandomGrayscale(), RandomPosterize(3, p=0.25), RandomErasing(0.25, value=\"random\")");
  ASSERT_EQ(options.augmentations.size(), 6U);
  const auto& apply = std::get<Apply>(options.augmentations[0]);
  EXPECT_EQ(apply.probability, 0.1);
  EXPECT_EQ(std::get<GaussianBlur>(apply.augmentations.at(0)).kernel_size, 23);
  const auto& one_of = std::get<OneOf>(options.augmentations[1]);
  EXPECT_THAT(one_of.weights, ElementsAre(1, 3));
  const auto& both = std::get<Apply>(one_of.augmentations.at(1));
  EXPECT_EQ(std::get<Solarize>(both.augmentations.at(1)).threshold, 9.5);
  const auto& jitter = std::get<ColorJitter>(options.augmentations[2]);
  EXPECT_EQ(jitter.brightness.max, 1);
  EXPECT_EQ(jitter.hue.max, 0.2);
  EXPECT_EQ(std::get<AutoAugment>(options.augmentations[3]).policy, AutoAugmentPolicy::svhn);
  EXPECT_EQ(std::get<Apply>(options.augmentations[4]).probability, 0.1);
  const auto& posterize = std::get<Apply>(options.augmentations[5]);
  EXPECT_EQ(posterize.probability, 0.25);
  EXPECT_EQ(std::get<Posterize>(posterize.augmentations.at(0)).bits, 3);
  ASSERT_TRUE(options.erasing.has_value());
  EXPECT_TRUE(options.erasing->noise);
  EXPECT_EQ(options.erasing->probability, 0.25);
}

TEST(TransformText, ValuesAreWrittenAsInPython) {
  const auto crop = transform_of<RandomResizedCrop>("RandomResizedCrop(ratio=(3/4, 4. / 3e0))");
  EXPECT_EQ(crop.ratio_min, 0.75);
  EXPECT_EQ(crop.ratio_max, 4.0 / 3.0);
  const auto shortest = std::get<RandomShortestSize>(
      transform_of<Compose>("RandomShortestSize(range(480, 545, 32), max_size=1333), "
                            "FixedSizeCrop(1344)")
          .steps[0]);
  EXPECT_THAT(shortest.sizes, ElementsAre(480, 512, 544));
  EXPECT_EQ(shortest.max_size, 1333);
  const auto side = std::get<Resize>(
      transform_of<Compose>("Resize((+9), max_size=None), CenterCrop(4)").steps[0]);
  EXPECT_EQ(side.size, ResizeSize(9));
  EXPECT_EQ(side.max_size, 0);
  const auto iou = std::get<RandomIoUCrop>(
      transform_of<Compose>("RandomIoUCrop(sampler_options=(1,), trials=3), CenterCrop(4)")
          .steps[0]);
  EXPECT_THAT(iou.overlaps, ElementsAre(1));
}

// Each kind by the defaults that its signature shows: the values read are those that are shown.
TEST(TransformText, SignaturesAreTextsOfTheDefaults) {
  const std::vector<std::string> signatures = transform_signatures();
  EXPECT_EQ(signatures.size(), 43U);
  EXPECT_THAT(signatures, ::testing::Contains("Resize(size=(224, 224), interpolation=\"bilinear\", "
                                              "max_size=None)"));
  EXPECT_THAT(signatures, ::testing::Contains("RandomShortestSize(min_size=800, max_size=None, "
                                              "interpolation=\"bilinear\")"));
  EXPECT_THAT(signatures, ::testing::Contains("Apply(probability, augmentations)"));
  for (const std::string& signature : signatures) {
    const bool lacks_defaults = signature.find("=") == std::string::npos ||
                                signature.starts_with("OneOf") ||
                                signature.find("threshold,") != std::string::npos ||
                                signature.find("bits,") != std::string::npos ||
                                signature.find("factor,") != std::string::npos;
    if (lacks_defaults) continue;
    const bool is_alone = signature.starts_with("ScalePad");
    EXPECT_NO_THROW(parse_transforms(is_alone ? signature : "Resize(4), " + signature))
        << signature;
  }
}

TEST(TransformText, OneNumberOfResizeIsTheShortSide) {
  const auto step = [](std::string_view text) {
    return std::get<Resize>(transform_of<Compose>(std::string(text) + ", CenterCrop(4)").steps[0]);
  };
  EXPECT_EQ(step("Resize(64)").size, ResizeSize(64));
  EXPECT_EQ(step("Resize([64])").size, ResizeSize(64));
  EXPECT_EQ(step("Resize(64, 'bicubic', 100)").max_size, 100);
  EXPECT_EQ(step("Resize(None, max_size=100)").size, ResizeSize::nothing());
  EXPECT_EQ(step("Resize(64, max_size=100)").max_size, 100);
  EXPECT_EQ(image_size(parse_transforms("Resize(64), Resize((4, 5))").transform), ImageSize(4, 5));
  for (const auto* text : {"Resize(64)", "Resize(None, max_size=70)", "Pad(3), Resize(64)"}) {
    EXPECT_ERROR(validate(parse_transforms(text)), invalid_argument) << text;
  }
  for (const auto* text : {"Resize((4, 5), max_size=9)", "Resize(64, max_size=64), CenterCrop(4)",
                           "Resize(None), CenterCrop(4)", "Resize(0), CenterCrop(4)"}) {
    EXPECT_ERROR(validate(parse_transforms(text)), invalid_argument) << text;
  }
}

// Calls as torchvision's pages write them.
TEST(TransformText, ParametersAreThoseOfTorchvision) {
  const auto step = []<typename Step>(std::string_view text, Step) {
    return std::get<Step>(transform_of<Compose>(std::string(text) + ", CenterCrop(4)").steps[0]);
  };
  EXPECT_EQ(
      step("RandomResizedCrop(8, (0.5, 1), (1, 1), 'bicubic')", RandomResizedCrop{}).interpolation,
      Interpolation::bicubic);
  const auto crop = step("RandomCrop(32, None, True, 7)", RandomCrop{});
  EXPECT_TRUE(crop.pad_if_needed);
  EXPECT_EQ(crop.fill, (RgbColor{7, 7, 7}));
  EXPECT_EQ(crop.flip_probability, 0);
  EXPECT_EQ(step("Pad((1, 2))", Pad{}).padding, Padding(1, 2, 1, 2));
  const auto rotation = step("RandomRotation(10, 'bilinear', True, None, 9)", RandomRotation{});
  EXPECT_TRUE(rotation.expand);
  EXPECT_EQ(rotation.fill, (RgbColor{9, 9, 9}));
  const auto affine =
      step("RandomAffine(10, None, (0.8, 1.2), (1, 2, 3, 4), 'bicubic', 5)", RandomAffine{});
  EXPECT_EQ(affine.translate_x, 0);
  EXPECT_EQ(affine.shear_x.max, 2);
  EXPECT_EQ(affine.shear_y.min, 3);
  EXPECT_EQ(affine.filter, WarpFilter::bicubic);
  EXPECT_EQ(step("RandomAffine(0, shear=20)", RandomAffine{}).shear_x.min, -20);
  EXPECT_EQ(step("RandomAffine(0, shear=20)", RandomAffine{}).shear_y.max, 0);
  EXPECT_EQ(step("RandomZoomOut(9, (2, 3), p=1)", RandomZoomOut{}).side_max, 3);
  EXPECT_EQ(step("RandomIoUCrop(0.5, 0.9, 0.7, 1.5, None, 3)", RandomIoUCrop{}).ratio_max, 1.5);
  EXPECT_EQ(step("ScaleJitter(target_size=(4, 5), scale_range=(1, 2))", ScaleJitter{}).size,
            ImageSize(4, 5));
  EXPECT_EQ(step("RandomPerspective(distortion_scale=0.2, p=0.3)", RandomPerspective{}).distortion,
            0.2);
  const ImageOptions colours = parse_transforms(
      "CenterCrop(4), GaussianBlur((5, 5), 2), ColorJitter(None, 0.5), RandomErasing(p=0.1)");
  EXPECT_EQ(std::get<GaussianBlur>(colours.augmentations[0]).kernel_size, 5);
  EXPECT_EQ(std::get<ColorJitter>(colours.augmentations[1]).brightness.max, 1);
}

// Calls of before 0.2.0 that would mean something else now.
TEST(TransformText, FormerCallsAreRefusedWithTheParameters) {
  for (const auto* text :
       {"GaussianBlur((0.1, 2))", "GaussianBlur((5, 7))", "GaussianBlur(1.5, 9)",
        "RandomCrop(32, 4, (1, 2, 3), 0.5)", "RandomCrop(32, 4, 0)",
        "RandomResizedCrop(32, (0.1, 1), (1, 1), 0.5)", "RandomRotation(10, 'nearest', 0)",
        "RandomAffine(10, (0, 0), (1, 1), 10, 5)", "RandomZoomOut((1, 4))",
        "RandomIoUCrop((0.3, 1), (0.5, 2))", "ScaleJitter(size=4)", "RandomAffine(shear_x=4)",
        "RandomHorizontalFlip(probability=1)", "RandomErasing(probability=1)"}) {
    EXPECT_ERROR(parse_transforms(std::string(text) + ", CenterCrop(4)"), invalid_argument) << text;
  }
  EXPECT_ERROR(validate(parse_transforms("CenterCrop(4), GaussianBlur(2)")), invalid_argument);
  EXPECT_ERROR(validate(parse_transforms("CenterCrop(4), Grayscale()")), invalid_argument);
}

TEST(TransformText, NamesThatThereAreNotGetTheNearest) {
  EXPECT_ERROR(parse_transforms("RandomResizeCrop(224)"), invalid_argument);
  EXPECT_ERROR(parse_transforms("RandomResizedCrop(224, scal=(0.4, 1))"), invalid_argument);
  EXPECT_ERROR(parse_transforms("Resize(4), Invert(p=1)"), invalid_argument);
  EXPECT_ERROR(parse_transforms("Resize(4, interpolation='lanczos')"), invalid_argument);
}

TEST(TransformText, WhatIsWrittenWrongIsQuoted) {
  const auto refused = [](std::string_view text) {
    EXPECT_ERROR(parse_transforms(text), invalid_argument);
  };
  refused("");
  refused("Resize");
  refused("Resize(224");
  refused("Resize(224) RandomVerticalFlip()");
  refused("Resize(224, interpolation=\"bilinear)");
  refused("Resize(224px)");
  refused("Resize(1e999)");
  refused("Resize(1/0)");
  refused("Resize(224, *)");
  refused("Resize(big)");
  refused("Resize(99999999999999999999)");
  refused("RandomShortestSize(range(0, 10, 0)), Resize(4)");
  refused("RandomShortestSize(range(100000)), Resize(4)");
  refused("Resize(\x01\xff)");
  refused("224");
  refused(std::string(100, '(') + "Resize(4)");
}

TEST(TransformText, ValuesOfAnotherKindAreRefused) {
  const auto refused = [](std::string_view text) {
    EXPECT_ERROR(parse_transforms(text), invalid_argument);
  };
  refused("Resize(224.5)");
  refused("Resize((1, 2, 3))");
  refused("Resize(True)");
  refused("RandomResizedCrop(scale=0.4)");
  refused("RandomResizedCrop(scaled_decode=1)");
  refused("RandomCrop(4, fill=256)");
  refused("RandomCrop(4, padding=(1, 2, 3))");
  refused("RandomRotation('a'), Resize(4)");
  refused("Resize(4, 3)");
  refused("Resize(4), RandAugment(4000000000)");
  refused("Resize(4), RandomErasing(value='noise')");
  refused("Resize(4), Solarize(None)");
}

TEST(TransformText, CallsThatDoNotFitAreRefused) {
  const auto refused = [](std::string_view text) {
    EXPECT_ERROR(parse_transforms(text), invalid_argument);
  };
  refused("Resize(4, 'bilinear', 8, 3)");
  refused("Resize(size=4, 'bilinear')");
  refused("Resize(4, size=4)");
  refused("Resize(4), Apply(0.5)");
  refused("Resize(4), RandomSolarize()");
  refused("Resize(4), Apply(0.5, Resize(3))");
  refused("Resize(4), Apply(0.5, 3)");
  refused("Compose([Resize(4), Grayscale()])");
  refused("Compose(Resize(4))");
  refused("Compose([])");
  refused("ColorJitter(0.4)");
  refused("Resize(4), RandomErasing(), RandomErasing()");
  refused("ScalePad(), RandomHorizontalFlip()");
  refused("Resize(4), ScalePad()");
}

// A text is as deep as validate() allows augmentations to be, and deeper; the parser's own depth
// has an end.
TEST(TransformText, DepthIsBounded) {
  const auto nested = [](int levels) {
    std::string text = "Resize((4, 4)), ";
    for (int i = 0; i < levels; ++i) text.append("Apply(1, [");
    text.append("Invert()");
    for (int i = 0; i < levels; ++i) text.append("])");
    return text;
  };
  EXPECT_NO_THROW(validate(parse_transforms(nested(16))));
  EXPECT_ERROR(parse_transforms(nested(21)), invalid_argument);
  EXPECT_ERROR(parse_transforms(nested(50'000)), invalid_argument);
}

}  // namespace
}  // namespace ffkit
