#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ffkit/converter/sources.h>

#include "expect_error.h"
#include "meta_mat_builder.h"
#include "pictures.h"
#include "shared_data.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::jpeg_picture;
using testing::TarBuilder;
using testing::TempDir;
using testing::write_devkit;
using testing::write_file;

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

// "id label" of every sample; its bytes must be those of picture `first`, `first` + 1, ... in the given order.
std::vector<std::string> samples(const Source& source, size_t split, std::vector<int> pictures) {
  std::vector<std::string> all;
  const Schema schema = source.schema();
  for (int64_t i = 0; i < source.splits()[split].num_samples; ++i) {
    SampleBuffers buffers;
    RecordBuilder builder(schema);
    std::vector<std::byte> record;
    source.read(split, i, builder, buffers);
    builder.encode(record);
    const RecordView view(schema, record);
    const auto bytes = view.bytes(0);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              jpeg_picture(pictures[static_cast<size_t>(i)]));
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
  EXPECT_THAT(samples(*source, 0, {3, 1, 2}),
              ElementsAre("n01000000/n01000000_9.JPEG 0", "n03000000/n03000000_1.JPEG 2",
                          "n03000000/n03000000_2.JPEG 2"));
  EXPECT_THAT(samples(*source, 1, {4, 5}),
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
  EXPECT_THAT(samples(*source, 0, {3, 1}),
              ElementsAre("n01000000/n01000000_9.JPEG 0", "n03000000/n03000000_1.JPEG 2"));
  EXPECT_THAT(samples(*source, 1, {4}), ElementsAre("n02000000/ILSVRC2012_val_00000001.JPEG 1"));
}

TEST(ImageNet, LabelsFlatValidationPicturesByTheDevkit) {
  const TempDir dir;
  write_file(dir / "val/ILSVRC2012_val_00000002.JPEG", jpeg_picture(5));
  write_file(dir / "val/ILSVRC2012_val_00000001.JPEG", jpeg_picture(4));
  EXPECT_ERROR(open_imagenet(dir.path()), not_found, "put ILSVRC2012_devkit_t12.tar.gz beside it");
  write_devkit(dir.path(), "3\n1\n");
  const auto source = open_imagenet(dir.path());
  EXPECT_THAT(samples(*source, 0, {4, 5}),
              ElementsAre("ILSVRC2012_val_00000001.JPEG 1", "ILSVRC2012_val_00000002.JPEG 2"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the data set will have no 'train'")));
}

TEST(ImageNet, TakesFolderNamesAsClassesWithoutADevkit) {
  const TempDir dir;
  write_file(dir / kTrain, train_tar());
  const auto source = open_imagenet(dir.path());
  EXPECT_THAT(source->classes(), ElementsAre("n01000000", "n03000000"));
  EXPECT_TRUE(source->class_names().empty());
  EXPECT_THAT(samples(*source, 0, {3, 1, 2}),
              ElementsAre("n01000000/n01000000_9.JPEG 0", "n03000000/n03000000_1.JPEG 1",
                          "n03000000/n03000000_2.JPEG 1"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("no devkit")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("will have no 'val'")));
}

TEST(ImageNet, SaysWhatIsMissing) {
  const TempDir dir;
  EXPECT_ERROR(open_imagenet(dir / "none"), not_found, "there is no such folder");
  EXPECT_ERROR(open_imagenet(dir.path()), not_found, "holds neither ILSVRC2012_img_train.tar nor");
  std::filesystem::create_directory(dir / "train");
  EXPECT_ERROR(open_imagenet(dir.path()), not_found, "holds no class folders");
  std::filesystem::create_directory(dir / "train/n01000000");
  EXPECT_ERROR(open_imagenet(dir.path()), not_found, "there are no pictures in it");
}

TEST(ImageNet, RefusesAGroundTruthOfAnotherLength) {
  const TempDir dir;
  write_file(dir / kVal, val_tar());
  write_devkit(dir.path(), "3\n1\n2\n");
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument,
               "holds 2 pictures, but the devkit has labels for 3");
}

TEST(ImageNet, RefusesAClassThatTheDevkitLacks) {
  const TempDir dir;
  write_file(dir / "train/n09999999/1.JPEG", jpeg_picture(1));
  write_devkit(dir.path(), "3\n");
  EXPECT_ERROR(open_imagenet(dir.path()), invalid_argument,
               "'n09999999' is not one of the 3 classes of the devkit");
}

TEST(ImageNet, RefusesATrainArchiveOfAnotherKind) {
  const TempDir dir;
  write_file(dir / kTrain, TarBuilder().add("train/n01000000/1.JPEG", jpeg_picture(1)).finish());
  EXPECT_ERROR(open_imagenet(dir.path()), unsupported,
               "member 'train/n01000000/1.JPEG' is no class archive");
}

TEST(ImageNet, NamesTheClassArchiveThatIsCutShort) {
  const TempDir dir;
  const std::string inner = TarBuilder().add("x.JPEG", jpeg_picture(1)).finish();
  write_file(
      dir / kTrain,
      TarBuilder().add("n01000000.tar", inner).add("n03000000.tar", inner.substr(0, 600)).finish());
  EXPECT_ERROR(
      open_imagenet(dir.path()), corrupt,
      "img_train.tar: n03000000.tar: offset 512: the archive is cut short: member 'x.JPEG'");
}

TEST(ImageNet, SharedArchivesAreRead) {
  FFKIT_REQUIRE_SHARED_DATA(folder, "imagenet");
  const auto source = open_imagenet(folder);
  EXPECT_EQ(source->classes().size(), 1000U);
  EXPECT_EQ(source->classes()[0], "n01440764");
  EXPECT_THAT(source->class_names()[0], HasSubstr("tench"));
  ASSERT_EQ(source->splits().size(), 2U);
  const Schema schema = source->schema();
  RecordBuilder builder(schema);
  SampleBuffers buffers;
  for (size_t split = 0; split < 2; ++split) {
    for (int64_t i = 0; i < source->splits()[split].num_samples; ++i) {
      buffers.clear();
      source->read(split, i, builder, buffers);  // checks the header of every picture
    }
  }
}

}  // namespace
}  // namespace ffkit
