#include <ffkit/sources/demo.h>

#include "sources/demo/demo_parts.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

TEST(Demo, IsAFunctionOfItsSeed) {
  const auto a = make_demo({}, {.seed = 3});
  const auto b = make_demo({}, {.seed = 3});
  const auto c = make_demo({}, {.seed = 4});
  // In another order, from another object: nothing is carried from one picture to the next.
  const auto last = record_of(*b, 0, 99);
  EXPECT_EQ(record_of(*b, 0, 5), record_of(*a, 0, 5));
  EXPECT_EQ(last, record_of(*a, 0, 99));
  EXPECT_NE(record_of(*a, 0, 5), record_of(*c, 0, 5));
  EXPECT_NE(record_of(*a, 0, 5), record_of(*a, 1, 5));
}

TEST(Demo, HasBalancedClassesAndPicturesOfTheSize) {
  const auto source = make_demo({.num_classes = 7, .num_train = 21, .num_val = 0, .size = 40}, {});
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->classes().size(), 7U);
  std::array<int, 7> counts{};
  const Schema schema = source->schema();
  for (int64_t i = 0; i < 21; ++i) {
    const auto record = record_of(*source, 0, i);
    const RecordView view(schema, record);
    ++counts.at(static_cast<size_t>(view.scalar<int64_t>(1)));
    const ImageInfo info = read_image_info(view.bytes(0));
    EXPECT_EQ(info.encoding, ImageEncoding::jpeg);
    EXPECT_EQ(info.width, 40);
    EXPECT_EQ(info.height, 40);
  }
  for (const int count : counts) EXPECT_EQ(count, 3);
}

TEST(Demo, NamesEveryClassDifferently) {
  std::set<std::string> names;
  for (int64_t label = 0; label < kMaxDemoClasses; ++label) names.insert(demo_class_name(label));
  EXPECT_EQ(names.size(), static_cast<size_t>(kMaxDemoClasses));
}

// Every shape, texture, number of copies and rim as it was in the first release: how light each
// quarter of a picture is. Not to the last bit, since the pictures are drawn with the C library's
// sine.
TEST(Demo, PicturesLookAsTheyDid) {
  constexpr std::array<std::array<int, 4>, 24> kLightness = {
      {{113, 112, 129, 127}, {165, 163, 217, 217}, {125, 129, 122, 125}, {150, 142, 144, 136},
       {168, 183, 177, 193}, {124, 120, 105, 105}, {160, 166, 153, 189}, {178, 152, 172, 166},
       {185, 178, 153, 176}, {116, 105, 129, 126}, {31, 61, 63, 63},     {145, 140, 160, 142},
       {82, 89, 86, 94},     {164, 204, 204, 161}, {74, 72, 92, 57},     {126, 125, 129, 129},
       {80, 64, 64, 50},     {117, 128, 113, 124}, {124, 126, 124, 124}, {156, 139, 157, 162},
       {141, 125, 165, 173}, {180, 206, 166, 195}, {78, 77, 80, 46},     {87, 93, 98, 95}}};
  constexpr int64_t kSize = 48;
  for (size_t i = 0; i < kLightness.size(); ++i) {
    SplitMix random(i);
    const auto pixels =
        paint_demo_picture(static_cast<int64_t>(i) * 97 % kMaxDemoClasses, kSize, random);
    std::array<double, 4> sums{};
    for (size_t at = 0; at < pixels.size(); ++at) {
      const auto x = static_cast<int64_t>(at) / 3 % kSize;
      const auto y = static_cast<int64_t>(at) / 3 / kSize;
      sums.at(static_cast<size_t>((y >= kSize / 2 ? 2 : 0) + (x >= kSize / 2 ? 1 : 0))) +=
          pixels[at];
    }
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      const double mean = sums.at(quarter) / (3.0 * kSize * kSize / 4);
      EXPECT_NEAR(mean, kLightness.at(i).at(quarter), 0.6) << "picture " << i;
    }
  }
}

// The mean colours of the pictures must not give the class away: the nearest class mean is right
// hardly more often than by chance.
TEST(Demo, IsNotToldByItsColours) {
  constexpr int64_t kClasses = 10;
  constexpr int kPerClass = 60;
  using Mean = std::array<double, 3>;
  const auto mean_of = [](int64_t label, uint64_t seed) {
    SplitMix random(SplitMix(seed).next());
    const auto pixels = paint_demo_picture(label, 32, random);
    Mean mean{};
    for (size_t i = 0; i < pixels.size(); ++i) mean[i % 3] += pixels[i] * 3.0 / pixels.size();
    return mean;
  };
  std::array<Mean, kClasses> class_means{};
  uint64_t seed = 0;
  for (int64_t label = 0; label < kClasses; ++label) {
    for (int i = 0; i < kPerClass; ++i) {
      const Mean mean = mean_of(label, ++seed);
      for (size_t c = 0; c < 3; ++c)
        class_means[static_cast<size_t>(label)][c] += mean[c] / kPerClass;
    }
  }
  int num_right = 0;
  for (int64_t label = 0; label < kClasses; ++label) {
    for (int i = 0; i < kPerClass; ++i) {
      const Mean mean = mean_of(label, ++seed);
      const auto distance = [&mean](const Mean& other) {
        return std::hypot(mean[0] - other[0], mean[1] - other[1], mean[2] - other[2]);
      };
      size_t nearest = 0;
      for (size_t k = 1; k < kClasses; ++k) {
        if (distance(class_means[k]) < distance(class_means[nearest])) nearest = k;
      }
      num_right += static_cast<int64_t>(nearest) == label ? 1 : 0;
    }
  }
  EXPECT_LT(num_right, kClasses * kPerClass / 4);  // chance is a tenth
}

TEST(Demo, RefusesValuesOutOfRange) {
  EXPECT_ERROR(make_demo({.num_classes = 1}, {}), invalid_argument, .subject = argument);
  EXPECT_ERROR(make_demo({.num_train = 0}, {}), invalid_argument, .subject = argument);
  EXPECT_ERROR(make_demo({.num_val = -1}, {}), invalid_argument, .subject = argument);
  EXPECT_ERROR(make_demo({.size = 8}, {}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
