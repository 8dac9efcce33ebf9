#include "sources/imagenet/imagenet_lists.h"

#include <zlib.h>

#include "meta_mat_builder.h"
#include "sources/imagenet/imagenet_classes.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::meta_mat;
using testing::MetaFlaw;

Synsets parse(const std::string& bytes) {
  return parse_meta_mat(std::as_bytes(std::span(bytes)), "kit/meta.mat");
}

std::string devkit_error(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MetaMat, ClassesAreTheLeavesSortedByWnid) {
  const Synsets synsets = parse(meta_mat(testing::three_classes()));
  EXPECT_THAT(synsets.wnids, ElementsAre("n01000000", "n02000000", "n03000000"));
  EXPECT_THAT(synsets.words, ElementsAre("tench", "dog", "chair, seat"));
  EXPECT_EQ(synsets.label_of_id.at(1), 2);  // the chair
  EXPECT_EQ(synsets.label_of_id.at(2), 0);
  EXPECT_EQ(synsets.label_of_id.at(3), 1);
  EXPECT_EQ(synsets.label_of_id.count(4), 0U);  // not a leaf
  EXPECT_EQ(synsets.label_of("n02000000"), 1);
  EXPECT_EQ(synsets.label_of("n00000001"), -1);
}

TEST(MetaMat, SaysWhatIsWrong) {
  const auto rows = testing::three_classes();
  EXPECT_ERROR(parse("no mat"), corrupt);
  EXPECT_ERROR(parse(meta_mat(rows, MetaFlaw::other_table)), corrupt);
  EXPECT_ERROR(parse(meta_mat(rows, MetaFlaw::no_wnid)), corrupt);
  EXPECT_ERROR(parse(meta_mat(rows, MetaFlaw::id_is_text)), corrupt);
  EXPECT_ERROR(parse(meta_mat({{1, "n1", "a", 2}})), corrupt);
  EXPECT_ERROR(parse(meta_mat({{1, "n1", "a", 0}, {1, "n2", "b", 0}})), corrupt);
  EXPECT_ERROR(parse(meta_mat({{1, "n1", "a", 0}, {2, "n1", "b", 0}})), corrupt);
}

TEST(MetaMat, IsRefusedWhereverItIsCut) {
  const std::string whole = meta_mat(testing::three_classes());
  for (size_t length = 0; length < whole.size(); length += 7) {
    ASSERT_THAT(devkit_error(whole.substr(0, length)), HasSubstr("kit/meta.mat"))
        << "cut to " << length << " of " << whole.size();
  }
}

// As MATLAB saves by default.
std::string compress_mat(const std::string& plain) {
  std::string data(compressBound(plain.size()), '\0');
  uLongf length = data.size();
  compress(reinterpret_cast<Bytef*>(data.data()), &length,
           reinterpret_cast<const Bytef*>(plain.data() + 128), plain.size() - 128);
  const auto size = static_cast<uint32_t>(length);
  std::string mat = plain.substr(0, 128) + std::string("\x0f\0\0\0", 4);
  mat.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return mat + data.substr(0, length);
}

TEST(MetaMat, IsReadCompressed) {
  const std::string plain = meta_mat(testing::three_classes());
  EXPECT_EQ(parse(compress_mat(plain)).wnids, parse(plain).wnids);
}

TEST(MetaMat, NoticesEveryDamagedByteOfCompressedData) {
  const std::string whole = compress_mat(meta_mat(testing::three_classes()));
  for (size_t i = 130; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_NE(devkit_error(damaged), "") << "byte " << i << " of " << whole.size();
  }
}

// Every byte of an uncompressed file, which no checksum covers: a table or an error.
TEST(MetaMat, SurvivesDamage) {
  const std::string whole = meta_mat(testing::three_classes());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int bits : {0x01, 0x10, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ bits);
      devkit_error(damaged);
    }
  }
}

TEST(MetaMat, MayNotExpandWithoutEnd) {
  const std::string plain = meta_mat({}).substr(0, 128) + std::string(size_t{20} << 20, '\0');
  EXPECT_ERROR(parse(compress_mat(plain)), unsupported);
}

TEST(MetaMat, TextsAreUtf8) {
  const std::string name =
      "ca\xc3\xb1"
      "on";
  EXPECT_THAT(parse(meta_mat({{1, "n1", name, 0}})).words, ElementsAre(name));
  EXPECT_ERROR(parse(meta_mat({{1, "n1", "ca\xf1on", 0}})), corrupt);
}

TEST(MetaMat, TextsOf16BitUnitsBecomeUtf8) {
  const auto words = [](const std::u16string& text) {
    return parse(
               meta_mat({{.id = 1, .wnid = "n1", .words = "", .num_children = 0, .words16 = text}}))
        .words.at(0);
  };
  EXPECT_EQ(words(u"a\x7F"), "a\x7F");
  EXPECT_EQ(words(u"\x80\u00F1\u07FF"), "\xC2\x80\xC3\xB1\xDF\xBF");
  EXPECT_EQ(words(u"\u0800\u20AC\uFFFD"), "\xE0\xA0\x80\xE2\x82\xAC\xEF\xBF\xBD");
}

TEST(GroundTruth, MapsNumbersToClasses) {
  const Synsets synsets = parse(meta_mat(testing::three_classes()));
  EXPECT_THAT(parse_ground_truth("1\n2\n3\n3", synsets, "gt"), ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(parse_ground_truth("1\r\n2\r\n", synsets, "gt"), ElementsAre(2, 0));
  EXPECT_THAT(parse_ground_truth("", synsets, "gt"), ElementsAre());
}

TEST(GroundTruth, NamesTheLineThatIsWrong) {
  const Synsets synsets = parse(meta_mat(testing::three_classes()));
  for (const char* bad : {"4", "9", "x", "", "1 2", "-1", "99999999999999999999"}) {
    EXPECT_ERROR(parse_ground_truth(std::string("1\n") + bad + "\n2\n", synsets, "gt.txt"),
                 corrupt);
  }
}

TEST(Devkit, IsReadFromAFolder) {
  const TempDir dir;
  EXPECT_FALSE(find_devkit(dir.path()).has_value());
  testing::write_devkit(dir.path(), "3\n1\n");
  const auto devkit = find_devkit(dir.path());
  ASSERT_TRUE(devkit.has_value());
  EXPECT_THAT(devkit->val_labels, ElementsAre(1, 2));
}

TEST(Devkit, ArchiveWithoutItsFilesIsAnError) {
  const TempDir dir;
  testing::write_file(dir / "ILSVRC2012_devkit_t12.tar.gz",
                      testing::TarBuilder().add("readme.txt", "x").finish());
  EXPECT_ERROR(find_devkit(dir.path()), corrupt, .path = dir / "ILSVRC2012_devkit_t12.tar.gz");
}

TEST(Devkit, OfficialArchiveIsRead) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "imagenet");
  const auto devkit = find_devkit(folder);
  ASSERT_TRUE(devkit.has_value());
  EXPECT_EQ(devkit->synsets.wnids.size(), 1000U);
  EXPECT_EQ(devkit->synsets.wnids.front(), "n01440764");
  EXPECT_THAT(devkit->synsets.words.front(), HasSubstr("tench"));
  EXPECT_EQ(devkit->synsets.wnids.back(), "n15075141");
  EXPECT_FALSE(devkit->val_labels.empty());
}

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
