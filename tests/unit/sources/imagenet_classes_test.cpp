#include "sources/imagenet/imagenet_classes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shared_data.h"
#include "sources/imagenet/imagenet_lists.h"

namespace ffkit {
namespace {

TEST(ImageNetClasses, AreAThousandSortedByWnid) {
  const auto classes = imagenet_classes();
  ASSERT_EQ(classes.size(), 1000U);
  EXPECT_EQ(std::ranges::adjacent_find(classes, {}, &ImageNetClass::wnid), classes.end());
  EXPECT_TRUE(std::ranges::is_sorted(classes, {}, &ImageNetClass::wnid));
  for (const ImageNetClass& one : classes) {
    EXPECT_TRUE(is_wnid(one.wnid)) << one.wnid;
    EXPECT_FALSE(one.words.empty()) << one.wnid;
  }
  // As torchvision's models number them.
  EXPECT_EQ(classes[0].words, "tench");
  EXPECT_EQ(classes[285].words, "Egyptian cat");
  EXPECT_EQ(classes[999].words, "toilet tissue");
}

TEST(ImageNetClasses, AreThoseOfTheDevkit) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "imagenet");
  const auto devkit = find_devkit(folder);
  ASSERT_TRUE(devkit.has_value());
  ASSERT_EQ(devkit->synsets.wnids.size(), imagenet_classes().size());
  for (size_t i = 0; i < imagenet_classes().size(); ++i) {
    EXPECT_EQ(devkit->synsets.wnids[i], imagenet_classes()[i].wnid);
    // The official words go on behind the first one.
    EXPECT_TRUE(devkit->synsets.words[i].starts_with(imagenet_classes()[i].words))
        << devkit->synsets.words[i];
  }
}

TEST(ImageNetClasses, AWnidIsAnNAndEightDigits) {
  EXPECT_TRUE(is_wnid("n01440764"));
  for (const char* text :
       {"", "n", "n0144076", "n014407640", "x01440764", "n0144076x", "N01440764"}) {
    EXPECT_FALSE(is_wnid(text)) << text;
  }
}

}  // namespace
}  // namespace ffkit
