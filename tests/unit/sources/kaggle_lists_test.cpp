#include "sources/imagenet/kaggle_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"

namespace ffkit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Synsets two_classes() {
  return parse_synset_mapping("n01443537 goldfish\nn01440764 tench, Tinca tinca\n", "map.txt");
}

TEST(SynsetMapping, ClassesAreSortedByWnid) {
  const Synsets synsets = two_classes();
  EXPECT_THAT(synsets.wnids, ElementsAre("n01440764", "n01443537"));
  EXPECT_THAT(synsets.words, ElementsAre("tench, Tinca tinca", "goldfish"));
  EXPECT_THAT(parse_synset_mapping("n01440764 a b\r\nn01443537 c", "map.txt").words,
              ElementsAre("a b", "c"));
}

TEST(SynsetMapping, NamesTheLineThatIsWrong) {
  for (const char* bad : {"tench", "n0144076 tench", "n01440764", "n01440764 ", "n0144076x tench",
                          "", "x01440764 tench", "n01440764\ttench"}) {
    EXPECT_ERROR(parse_synset_mapping(std::string("n01443537 goldfish\n") + bad + "\n", "map.txt"),
                 corrupt)
        << bad;
  }
  EXPECT_ERROR(parse_synset_mapping("", "map.txt"), corrupt);
  EXPECT_ERROR(parse_synset_mapping("n01440764 a\nn01440764 b\n", "map.txt"), corrupt);
}

TEST(ValSolution, GivesTheClassOfEachPicture) {
  const std::string text =
      "ImageId,PredictionString\n"
      "ILSVRC2012_val_00000002,n01443537 85 1 499 272 \r\n"
      "ILSVRC2012_val_00000001,n01440764 1 2 3 4 n01440764 5 6 7 8 ";
  EXPECT_THAT(parse_val_solution(text, two_classes(), "val.csv"),
              ElementsAre(Pair("ILSVRC2012_val_00000001", 0), Pair("ILSVRC2012_val_00000002", 1)));
  EXPECT_THAT(parse_val_solution("ImageId,PredictionString\n", two_classes(), "val.csv"),
              IsEmpty());
}

TEST(ValSolution, NamesTheLineThatIsWrong) {
  const auto parse = [](const std::string& line) {
    return parse_val_solution("ImageId,PredictionString\nv1,n01443537 1 2 3 4 \n" + line,
                              two_classes(), "val.csv");
  };
  EXPECT_ERROR(parse("v2"), corrupt);
  EXPECT_ERROR(parse("\nv2,n01443537 1 2 3 4 "), corrupt);
  EXPECT_ERROR(parse(",n01443537 1 2 3 4"), corrupt);
  EXPECT_ERROR(parse("v2,"), corrupt);
  EXPECT_ERROR(parse("v2,n09999999 1 2 3 4"), corrupt);
  EXPECT_ERROR(parse("v2,n01443537 1 2 3 4 n01440764 1 2 3 4"), corrupt);
  EXPECT_ERROR(parse("v1,n01443537 1 2 3 4"), corrupt);
  EXPECT_ERROR(parse_val_solution("a,b\n", two_classes(), "val.csv"), corrupt);
  EXPECT_ERROR(parse_val_solution("", two_classes(), "val.csv"), corrupt);
}

}  // namespace
}  // namespace ffkit
