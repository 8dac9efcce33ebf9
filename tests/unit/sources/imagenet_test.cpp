#include <ffkit/sources/imagenet.h>

#include "meta_mat_builder.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::write_devkit;

constexpr const char* kTrain = "ILSVRC2012_img_train.tar";
constexpr const char* kVal = "ILSVRC2012_img_val.tar";

// Pictures 1 and 2 of the chair (label 2), 3 of the tench (label 0).
std::string train_tar() {
  return TarBuilder()
      .add("n03000000.tar", TarBuilder()
                                .add("n03000000_1.JPEG", jpeg_picture(1))
                                .add("n03000000_2.JPEG", jpeg_picture(2))
                                .finish())
      .add("n01000000.tar", TarBuilder().add("n01000000_9.JPEG", jpeg_picture(3)).finish())
      .finish();
}

// Not in the order of the names; the devkit's lines are.
std::string val_tar() {
  return TarBuilder()
      .add("ILSVRC2012_val_00000002.JPEG", jpeg_picture(5))
      .add("ILSVRC2012_val_00000001.JPEG", jpeg_picture(4))
      .finish();
}

// "id label" of every sample; its bytes must be those of picture `first`, `first` + 1, ... in the
// given order.
std::vector<std::string> imagenet_samples(const Source& source, size_t split,
                                          std::vector<int> pictures) {
  std::vector<std::string> all;
  const Schema schema = source.schema();
  for (int64_t i = 0; i < source.splits()[split].num_samples; ++i) {
    const auto record = record_of(source, split, i);
    const RecordView view(schema, record);
    EXPECT_EQ(text_of(view.bytes(0)), jpeg_picture(pictures[static_cast<size_t>(i)]));
    all.push_back(std::string(view.string(2)) + " " + std::to_string(view.scalar<int64_t>(1)));
  }
  return all;
}

TEST(ImageNet, ReadsTheArchivesInPlace) {
  const TempDir dir;
  write_file(dir / kTrain, train_tar());
  write_file(dir / kVal, val_tar());
  write_devkit(dir.path(), "3\n1\n");
  const auto source = open_imagenet(dir.path());
  EXPECT_THAT(source->classes(), ElementsAre("n01000000", "n02000000", "n03000000"));
  EXPECT_THAT(source->class_names(), ElementsAre("tench", "dog", "chair, seat"));
  EXPECT_THAT(imagenet_samples(*source, 0, {3, 1, 2}),
              ElementsAre("n01000000/n01000000_9.JPEG 0", "n03000000/n03000000_1.JPEG 2",
                          "n03000000/n03000000_2.JPEG 2"));
  EXPECT_THAT(imagenet_samples(*source, 1, {4, 5}),
              ElementsAre("ILSVRC2012_val_00000001.JPEG 1", "ILSVRC2012_val_00000002.JPEG 2"));
  EXPECT_EQ(source->facts(0).at("archive"), kTrain);
  EXPECT_EQ(source->describe(0, 0), (std::filesystem::canonical(dir.path()) / kTrain).string() +
                                        ": n01000000/n01000000_9.JPEG");
}

TEST(ImageNet, ReadsAnExtractedTreeAlike) {
  const TempDir dir;
  write_file(dir / "train/n03000000/n03000000_1.JPEG", jpeg_picture(1));
  write_file(dir / "train/n01000000/n01000000_9.JPEG", jpeg_picture(3));
  write_file(dir / "val/n02000000/ILSVRC2012_val_00000001.JPEG", jpeg_picture(4));
  write_devkit(dir.path(), "3\n");
  const auto source = open_imagenet(dir.path());
  EXPECT_EQ(source->classes().size(), 3U);
  EXPECT_THAT(imagenet_samples(*source, 0, {3, 1}),
              ElementsAre("n01000000/n01000000_9.JPEG 0", "n03000000/n03000000_1.JPEG 2"));
  EXPECT_THAT(imagenet_samples(*source, 1, {4}),
              ElementsAre("n02000000/ILSVRC2012_val_00000001.JPEG 1"));
}

TEST(ImageNet, LabelsFlatValidationPicturesByTheDevkit) {
  const TempDir dir;
  write_file(dir / "val/ILSVRC2012_val_00000002.JPEG", jpeg_picture(5));
  write_file(dir / "val/ILSVRC2012_val_00000001.JPEG", jpeg_picture(4));
  EXPECT_ERROR(open_imagenet(dir.path()), not_found);
  write_devkit(dir.path(), "3\n1\n");
  const auto source = open_imagenet(dir.path());
  EXPECT_THAT(imagenet_samples(*source, 0, {4, 5}),
              ElementsAre("ILSVRC2012_val_00000001.JPEG 1", "ILSVRC2012_val_00000002.JPEG 2"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the data set will have no 'train'")));
}

TEST(ImageNet, LabelsGoByTheNumberInTheName) {
  const TempDir dir;
  write_devkit(dir.path(), "3\n1\n");
  // Sorted, the lower-case name comes last.
  write_file(dir / "val/ilsvrc2012_val_00000001.jpeg", jpeg_picture(4));
  write_file(dir / "val/ILSVRC2012_val_00000002.JPEG", jpeg_picture(5));
  EXPECT_THAT(imagenet_samples(*open_imagenet(dir.path()), 0, {5, 4}),
              ElementsAre("ILSVRC2012_val_00000002.JPEG 2", "ilsvrc2012_val_00000001.jpeg 1"));
}

TEST(ImageNet, RefusesValidationPicturesWithoutANumber) {
  const TempDir dir;
  write_devkit(dir.path(), "3\n1\n");
  write_file(dir / "val/ILSVRC2012_val_00000001.JPEG", jpeg_picture(4));
  const auto expect_refusal = [&dir](const std::string& name) {
    write_file(dir / "val" / name, jpeg_picture(5));
    EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
    std::filesystem::remove(dir / "val" / name);
  };
  for (const char* name : {"ILSVRC2012_val_0000002.JPEG", "ILSVRC2012_val_0000000x.JPEG",
                           "ILSVRC2012_val_00000000.JPEG", "copy of 2.JPEG"}) {
    expect_refusal(name);
  }
  expect_refusal("ILSVRC2012_val_00000003.JPEG");
  expect_refusal("ILSVRC2012_val_00000001.jpeg");
}

// Class archives of ImageNet's classes 0 and 2.
std::string official_train_tar() {
  const auto one = [](const char* name, int number) {
    return TarBuilder().add(name, jpeg_picture(number)).finish();
  };
  return TarBuilder()
      .add("n01484850.tar", one("n01484850_1.JPEG", 1))
      .add("n01440764.tar", one("n01440764_9.JPEG", 3))
      .finish();
}

TEST(ImageNet, KnowsTheClassesWithoutADevkit) {
  const TempDir dir;
  write_file(dir / kTrain, official_train_tar());
  const auto source = open_imagenet(dir.path());
  ASSERT_EQ(source->classes().size(), 1000U);
  EXPECT_EQ(source->classes()[2], "n01484850");
  EXPECT_EQ(source->class_names()[2], "great white shark");
  EXPECT_THAT(imagenet_samples(*source, 0, {3, 1}),
              ElementsAre("n01440764/n01440764_9.JPEG 0", "n01484850/n01484850_1.JPEG 2"));
  EXPECT_THAT(source->notes()[0], HasSubstr(": train (archive); 1000 classes from ffkit's table"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("will have no 'val'")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("pictures of 2 of the 1000 classes; labels are "
                                                  "numbers in the full list")));
}

TEST(ImageNet, RefusesAFolderThatIsNoClass) {
  const TempDir dir;
  write_file(dir / "train/n01440764/1.JPEG", jpeg_picture(1));
  write_file(dir / "train/tench/1.JPEG", jpeg_picture(1));
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
}

// Kaggle's tree in `folder`, and its lists in `lists`.
void write_kaggle(const std::filesystem::path& folder, const std::filesystem::path& lists) {
  write_file(folder / "train/n01484850/n01484850_1.JPEG", jpeg_picture(1));
  write_file(folder / "train/n01440764/n01440764_9.JPEG", jpeg_picture(2));
  write_file(folder / "val/ILSVRC2012_val_00000002.JPEG", jpeg_picture(3));
  write_file(folder / "val/ILSVRC2012_val_00000007.JPEG", jpeg_picture(4));
  write_file(folder / "test/ILSVRC2012_test_00000001.JPEG", jpeg_picture(5));
  write_file(lists / "LOC_synset_mapping.txt",
             "n01440764 tench, Tinca tinca\nn01443537 goldfish, Carassius auratus\n"
             "n01484850 great white shark, white shark\n");
  write_file(lists / "LOC_val_solution.csv",
             "ImageId,PredictionString\n"
             "ILSVRC2012_val_00000007,n01484850 1 2 3 4 n01484850 5 6 7 8 \n"
             "ILSVRC2012_val_00000001,n01440764 1 2 3 4 \n"
             "ILSVRC2012_val_00000002,n01443537 1 2 3 4 \n");
}

TEST(ImageNet, ReadsKagglesCopyFromAnyOfItsFolders) {
  for (const char* cls_loc : {"ILSVRC/Data/CLS-LOC", "Data/CLS-LOC"}) {
    const TempDir dir;
    write_kaggle(dir / cls_loc, dir.path());
    for (const std::filesystem::path& path : {dir.path(), dir / cls_loc}) {
      const auto source = open_imagenet(path);
      EXPECT_THAT(source->classes(), ElementsAre("n01440764", "n01443537", "n01484850"));
      EXPECT_EQ(source->class_names()[0], "tench, Tinca tinca");
      ASSERT_EQ(source->splits().size(), 3U);
      EXPECT_THAT(imagenet_samples(*source, 0, {2, 1}),
                  ElementsAre("n01440764/n01440764_9.JPEG 0", "n01484850/n01484850_1.JPEG 2"));
      EXPECT_THAT(imagenet_samples(*source, 1, {3, 4}),
                  ElementsAre("ILSVRC2012_val_00000002.JPEG 1", "ILSVRC2012_val_00000007.JPEG 2"));
      EXPECT_THAT(imagenet_samples(*source, 2, {5}),
                  ElementsAre("ILSVRC2012_test_00000001.JPEG -1"));
      EXPECT_THAT(source->notes()[0],
                  HasSubstr("train (class folders), val (flat folder, labels from "
                            "LOC_val_solution.csv), test (flat folder without labels); 3 classes "
                            "from LOC_synset_mapping.txt"));
    }
  }
}

TEST(ImageNet, ReadsOneSplitsOwnFolder) {
  const TempDir dir;
  write_kaggle(dir / "Data/CLS-LOC", dir.path());
  const auto source = open_imagenet(dir / "Data/CLS-LOC/val");
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->splits()[0].name, "val");
  EXPECT_THAT(imagenet_samples(*source, 0, {3, 4}),
              ElementsAre("ILSVRC2012_val_00000002.JPEG 1", "ILSVRC2012_val_00000007.JPEG 2"));
  EXPECT_EQ(open_imagenet(dir / "Data/CLS-LOC/train/")->splits()[0].name, "train");
  // A folder called "train" with other classes is not ImageNet.
  write_file(dir / "other/train/cat/1.jpg", jpeg_picture(1));
  EXPECT_ERROR(open_imagenet(dir / "other/train"), not_found);
}

TEST(ImageNet, ReadsMixturesOfArchivesAndFolders) {
  const TempDir dir;
  write_file(dir / kTrain, official_train_tar());
  write_file(dir / "train/n01440764/unused.JPEG", jpeg_picture(9));
  write_file(dir / "val/n01443537/ILSVRC2012_val_00000001.JPEG", jpeg_picture(4));
  write_file(dir / "ILSVRC2012_img_test_v10102019.tar",
             TarBuilder()
                 .add("test/", "", '5')
                 .add("test/ILSVRC2012_test_00000002.JPEG", jpeg_picture(6))
                 .add("test/ILSVRC2012_test_00000001.JPEG", jpeg_picture(5))
                 .finish());
  const auto source = open_imagenet(dir.path());
  ASSERT_EQ(source->splits().size(), 3U);
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_THAT(imagenet_samples(*source, 1, {4}),
              ElementsAre("n01443537/ILSVRC2012_val_00000001.JPEG 1"));
  EXPECT_THAT(imagenet_samples(*source, 2, {5, 6}),
              ElementsAre("ILSVRC2012_test_00000001.JPEG -1", "ILSVRC2012_test_00000002.JPEG -1"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the folder 'train' beside it is not read")));
  EXPECT_FALSE(source->splits()[2].is_training);
}

TEST(ImageNet, ConvertsTheSplitsThatAreWanted) {
  const TempDir dir;
  write_file(dir / kTrain, official_train_tar());
  write_file(dir / kVal, val_tar());  // without labels
  EXPECT_ERROR(open_imagenet(dir.path()), not_found);
  const auto source = open_imagenet(dir.path(), {.splits = {"train"}});
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_ERROR(open_imagenet(dir.path(), {.splits = {"test"}}), not_found);
  EXPECT_ERROR(open_imagenet(dir.path(), {.splits = {"dev"}}), invalid_argument);
}

TEST(ImageNet, RefusesWhatIsAmbiguous) {
  const TempDir dir;
  write_file(dir / "ILSVRC2012_img_test.tar", "");
  write_file(dir / "ILSVRC2012_img_test_v10102019.tar", "");
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
  std::filesystem::remove(dir / "ILSVRC2012_img_test.tar");
  std::filesystem::remove(dir / "ILSVRC2012_img_test_v10102019.tar");
  write_file(dir / "val/n01440764/a.JPEG", jpeg_picture(1));
  write_file(dir / "val/ILSVRC2012_val_00000001.JPEG", jpeg_picture(1));
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
}

TEST(ImageNet, RefusesAPictureThatTheListLacks) {
  const TempDir dir;
  write_kaggle(dir / "Data/CLS-LOC", dir.path());
  write_file(dir / "Data/CLS-LOC/val/ILSVRC2012_val_00000009.JPEG", jpeg_picture(1));
  EXPECT_ERROR(open_imagenet(dir.path()), not_found);
}

TEST(ImageNet, RefusesPicturesThatAreThereTwice) {
  const TempDir dir;
  const std::string one = TarBuilder().add("n01440764_1.JPEG", jpeg_picture(1)).finish();
  const auto refused = [&](const char* archive, const std::string& bytes) {
    write_file(dir / archive, bytes);
    EXPECT_ERROR(open_imagenet(dir.path()), unsupported);
  };
  refused(kTrain, TarBuilder().add("n01440764.tar", one).add("./n01440764.tar", one).finish());
  const std::string two =
      TarBuilder().add("a.JPEG", jpeg_picture(1)).add("./a.JPEG", jpeg_picture(2)).finish();
  refused(kTrain, TarBuilder().add("n01440764.tar", two).finish());
  std::filesystem::remove(dir / kTrain);
  write_file(dir / kVal, TarBuilder().add("a/v.JPEG", "1").add("b/v.JPEG", "2").finish());
  EXPECT_ERROR(open_imagenet(dir.path()), unsupported);
}

// What makes a class archive hostile is found inside the train archive, too.
TEST(ImageNet, RefusesHostileClassArchives) {
  const auto open = [](const TarBuilder& inner) {
    const TempDir dir;
    write_file(dir / kTrain, TarBuilder().add("n01440764.tar", inner.finish()).finish());
    open_imagenet(dir.path());
  };
  EXPECT_ERROR(open(TarBuilder().add("/etc/a.JPEG", "x")), unsupported);
  EXPECT_ERROR(open(TarBuilder().add("../a.JPEG", "x")), unsupported);
  EXPECT_ERROR(open(TarBuilder().add("a.JPEG", "", '2', "b.JPEG")), unsupported);
  EXPECT_ERROR(open(TarBuilder().add("a.JPEG", "", '3')), unsupported);
  EXPECT_ERROR(open(TarBuilder().add("caf\xe9.JPEG", jpeg_picture(1))), unsupported);
}

TEST(ImageNet, SaysWhatIsMissing) {
  const TempDir dir;
  EXPECT_ERROR(open_imagenet(dir / "none"), not_found);
  EXPECT_ERROR(open_imagenet(dir.path()), not_found);
  std::filesystem::create_directory(dir / "train");
  EXPECT_ERROR(open_imagenet(dir.path()), not_found);
  std::filesystem::create_directory(dir / "train/n01440764");
  EXPECT_ERROR(open_imagenet(dir.path()), not_found);
}

TEST(ImageNet, RefusesAGroundTruthOfAnotherLength) {
  const TempDir dir;
  write_file(dir / kVal, val_tar());
  write_devkit(dir.path(), "3\n1\n2\n");
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
  const auto source = open_imagenet(dir.path(), {.allow_partial = true});
  EXPECT_THAT(imagenet_samples(*source, 0, {4, 5}),
              ElementsAre("ILSVRC2012_val_00000001.JPEG 1", "ILSVRC2012_val_00000002.JPEG 2"));
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("1 of the 3 pictures that have labels is missing")));
}

// train/ as it is after the first step of the usual instructions, and in the middle of the second.
TEST(ImageNet, ReadsATrainFolderOfClassArchives) {
  const TempDir dir;
  const auto one = [](const char* name, int number) {
    return TarBuilder().add(name, jpeg_picture(number)).finish();
  };
  write_file(dir / "train/n01484850.tar", one("n01484850_1.JPEG", 1));
  write_file(dir / "train/n01440764.tar", one("n01440764_9.JPEG", 3));
  const auto expect_both = [](const Source& source) {
    EXPECT_THAT(imagenet_samples(source, 0, {3, 1}),
                ElementsAre("n01440764/n01440764_9.JPEG 0", "n01484850/n01484850_1.JPEG 2"));
  };
  const auto source = open_imagenet(dir.path());
  expect_both(*source);
  EXPECT_THAT(source->notes()[0], HasSubstr(": train (class archives); 1000 classes"));
  EXPECT_EQ(source->describe(0, 1),
            (std::filesystem::canonical(dir.path()) / "train/n01484850.tar").string() +
                ": n01484850/n01484850_1.JPEG");
  ASSERT_EQ(source->inputs(0).size(), 2U);
  EXPECT_EQ(source->inputs(0)[0].name, "n01440764.tar");
  expect_both(*open_imagenet(dir / "train"));
  // An archive that is being unpacked is whole, its folder is not.
  write_file(dir / "train/n01440764/n01440764_8.JPEG", jpeg_picture(7));
  write_file(dir / "train/n02085620/n02085620_1.JPEG", jpeg_picture(5));
  const auto half = open_imagenet(dir.path());
  EXPECT_THAT(imagenet_samples(*half, 0, {3, 1, 5}),
              ElementsAre("n01440764/n01440764_9.JPEG 0", "n01484850/n01484850_1.JPEG 2",
                          "n02085620/n02085620_1.JPEG 151"));
  EXPECT_THAT(half->notes(),
              Contains(HasSubstr("n01440764.tar: the folder 'n01440764' beside it is not read")));
  // Written to after it was listed.
  write_file(dir / "train/n01484850.tar", one("n01484850_1.JPEG", 1) + "x");
  EXPECT_ERROR(record_of(*half, 0, 1), not_found);
}

TEST(ImageNet, LeavesOutFoldersWithoutPictures) {
  const TempDir dir;
  write_file(dir / "train/n01440764/1.JPEG", jpeg_picture(1));
  write_file(dir / "train/@eaDir/._1.JPEG", "AppleDouble");
  std::filesystem::create_directory(dir / "train/n01443537");
  const auto source = open_imagenet(dir.path());
  EXPECT_THAT(imagenet_samples(*source, 0, {1}), ElementsAre("n01440764/1.JPEG 0"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("@eaDir: holds no pictures and is left out")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("pictures of 1 of the 1000 classes")));
}

TEST(ImageNet, TakesSplitsByTheNamesThatPeopleGiveThem) {
  const TempDir dir;
  write_file(dir / "Training/n01440764/1.JPEG", jpeg_picture(1));
  write_file(dir / "valid/n01440764/2.JPEG", jpeg_picture(2));
  const auto source = open_imagenet(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_THAT(imagenet_samples(*source, 1, {2}), ElementsAre("n01440764/2.JPEG 0"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("valid: is the split 'val'")));
  write_file(dir / "validation/n01440764/2.JPEG", jpeg_picture(2));
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
}

TEST(ImageNet, NamesLinksToNothing) {
  const TempDir dir;
  write_file(dir / "train/n01440764/1.JPEG", jpeg_picture(1));
  for (const char* name : {"val", kVal, "train/n01443537", "train/n01443537.tar"}) {
    std::filesystem::create_symlink("/gone", dir / name);
    EXPECT_ERROR(open_imagenet(dir.path()), not_found);
    std::filesystem::remove(dir / name);
  }
}

TEST(ImageNet, RefusesAClassThatTheDevkitLacks) {
  const TempDir dir;
  write_file(dir / "train/n09999999/1.JPEG", jpeg_picture(1));
  write_devkit(dir.path(), "3\n");
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument);
}

TEST(ImageNet, RefusesATrainArchiveOfAnotherKind) {
  const TempDir dir;
  write_file(dir / kTrain, TarBuilder().add("train/n01000000/1.JPEG", jpeg_picture(1)).finish());
  EXPECT_ERROR(open_imagenet(dir.path()), unsupported);
}

TEST(ImageNet, NamesTheClassArchiveThatIsCutShort) {
  const TempDir dir;
  const std::string inner = TarBuilder().add("x.JPEG", jpeg_picture(1)).finish();
  write_file(
      dir / kTrain,
      TarBuilder().add("n01000000.tar", inner).add("n03000000.tar", inner.substr(0, 600)).finish());
  EXPECT_ERROR(open_imagenet(dir.path()), corrupt);
}

TEST(ImageNet, SharedArchivesAreRead) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "imagenet");
  const auto source = open_imagenet(folder);
  EXPECT_EQ(source->classes().size(), 1000U);
  EXPECT_EQ(source->classes()[0], "n01440764");
  EXPECT_THAT(source->class_names()[0], HasSubstr("tench"));
  ASSERT_EQ(source->splits().size(), 2U);
  for (size_t split = 0; split < 2; ++split) {
    for (int64_t i = 0; i < source->splits()[split].num_samples; ++i) {
      (void)record_of(*source, split, i);  // checks the header of every picture
    }
  }
}

}  // namespace
}  // namespace ffkit
