// Which folders are splits, which are classes, and what is neither.
#include "sources/folder/folder_layout.h"

#include <ffkit/sources/folder.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

void write_pictures(const TempDir& dir, const std::vector<const char*>& files) {
  static const std::string jpeg = testing::jpeg_picture(1);
  for (const char* file : files) write_file(dir / file, jpeg);
}

// "split/id label" of all samples.
std::vector<std::string> all_samples(const Source& source) {
  std::vector<std::string> all;
  for (size_t split = 0; split < source.splits().size(); ++split) {
    for (int64_t i = 0; i < source.splits()[split].num_samples; ++i) {
      const SampleIdentity sample = source.identity(split, i);
      all.push_back(source.splits()[split].name + "/" + sample.name + " " +
                    std::to_string(static_cast<int64_t>(sample.content)));
    }
  }
  return all;
}

TEST(FolderLayout, LeavesOutFoldersWithoutPictures) {
  const TempDir dir;
  write_pictures(dir, {"cat/1.jpg", "dog/2.jpg"});
  write_file(dir / "@eaDir/._1.jpg", "AppleDouble");
  write_file(dir / "__MACOSX/cat/._1.jpg", "AppleDouble");
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(all_samples(*source), ElementsAre("train/cat/1.jpg 0", "train/dog/2.jpg 1"));
  EXPECT_THAT(
      source->notes(),
      Contains(HasSubstr("'@eaDir', '__MACOSX' hold no pictures, so they are not classes")));
}

TEST(FolderLayout, TakesNoClassFromAFolderBesideTheSplits) {
  const TempDir dir;
  write_pictures(dir, {"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg"});
  write_file(dir / "annotations/a/x.xml", "<x/>");
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(all_samples(*source),
              ElementsAre("train/cat/1.jpg 0", "train/dog/1.jpg 1", "val/cat/2.jpg 0"));
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("'annotations' holds no pictures, so it is not a split")));
}

TEST(FolderLayout, TrainSaysWhatTheClassesAre) {
  const TempDir dir;
  write_pictures(dir, {"train/cat/1.jpg", "train/dog/2.jpg", "val/bird/3.jpg", "val/dog/3.jpg"});
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  const auto all = open_image_folder(dir.path(), {.classes_from_all = true});
  EXPECT_THAT(all_samples(*all), ElementsAre("train/cat/1.jpg 1", "train/dog/2.jpg 2",
                                             "val/bird/3.jpg 0", "val/dog/3.jpg 2"));
  // Also where it is not converted.
  fs::remove_all(dir / "val/bird");
  const auto val = open_image_folder(dir.path(), {.splits = {"val"}});
  EXPECT_THAT(all_samples(*val), ElementsAre("val/dog/3.jpg 1"));
}

TEST(FolderLayout, WithoutTrainTheClassesAreThoseOfAllSplits) {
  const TempDir dir;
  write_pictures(dir, {"val/cat/1.jpg", "test/dog/2.jpg"});
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(all_samples(*source), ElementsAre("test/dog/2.jpg 1", "val/cat/1.jpg 0"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("there is no training split")));
}

TEST(FolderLayout, WalksSubFoldersOfClasses) {
  const TempDir dir;
  write_pictures(dir, {"cat/a/1.jpg", "dog/b/c/2.jpg"});
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(all_samples(*source), ElementsAre("train/cat/a/1.jpg 0", "train/dog/b/c/2.jpg 1"));
  EXPECT_THAT(source->notes(), ElementsAre(HasSubstr("its folders are used as classes")));
  write_pictures(dir, {"dog/3.jpg"});
  EXPECT_EQ(all_samples(*open_image_folder(dir.path())).size(), 3U);
}

TEST(FolderLayout, SaysThatASplitAloneBecomesTrain) {
  const TempDir dir;
  write_pictures(dir, {"train/cat/1.jpg", "train/dog/1.jpg", "valid/cat/2.jpg", "valid/dog/1.jpg"});
  EXPECT_THAT(open_image_folder(dir / "train")->notes(), ElementsAre());
  EXPECT_THAT(open_image_folder(dir / "valid")->notes(),
              ElementsAre(HasSubstr("its pictures become the split 'train'; for a split 'val', "
                                    "give the folder above")));
}

TEST(FolderLayout, FoldersThatAreNamedAreSplits) {
  const TempDir dir;
  write_pictures(dir, {"monday/cat/1.jpg", "tuesday/cat/2.jpg", "tuesday/dog/2.jpg"});
  const auto source = open_image_folder(dir.path(), {.splits = {"monday", "tuesday"}});
  EXPECT_THAT(all_samples(*source),
              ElementsAre("monday/cat/1.jpg 0", "tuesday/cat/2.jpg 0", "tuesday/dog/2.jpg 1"));
  EXPECT_ERROR(open_image_folder(dir.path(), {.splits = {"monday", "friday"}}), not_found);
}

TEST(FolderLayout, NamesSplitsAsTheTrainerLooksForThem) {
  const TempDir dir;
  write_pictures(dir,
                 {"Train/cat/1.jpg", "Train/dog/1.jpg", "valid/cat/2.jpg", "testing/cat/3.jpg"});
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(all_samples(*source), ElementsAre("train/cat/1.jpg 0", "train/dog/1.jpg 1",
                                                "test/cat/3.jpg 0", "val/cat/2.jpg 0"));
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("valid: is the split 'val'")));
  for (const char* name : {"val", "valid"}) {
    EXPECT_EQ(open_image_folder(dir.path(), {.splits = {name}, .classes_from_all = true})
                  ->splits()[0]
                  .name,
              "val");
  }
  write_pictures(dir, {"validation/cat/2.jpg"});
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
}

TEST(FolderLayout, RefusesAStrayPicture) {
  const TempDir dir;
  write_pictures(dir, {"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg", "train/sheet.jpg",
                       "val/sheet.jpg"});
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  EXPECT_ERROR(open_image_folder(dir / "train"), invalid_argument);
  fs::remove(dir / "train/sheet.jpg");
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  fs::remove(dir / "val/sheet.jpg");
  write_pictures(dir, {"sheet.jpg"});
  EXPECT_THAT(open_image_folder(dir.path())->notes(),
              Contains(HasSubstr("the pictures beside the splits are not read")));
}

TEST(FolderLayout, RefusesSplitsWithoutClasses) {
  const TempDir dir;
  write_pictures(dir, {"train/1.jpg", "val/2.jpg"});
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  // A class may be called so.
  write_pictures(dir, {"bus/3.jpg"});
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  fs::remove_all(dir / "val");
  EXPECT_ERROR(open_image_folder(dir.path(), {.refuses_other_layouts = true}), invalid_argument);
  write_file(dir / "classes.txt", "bus\ntrain\n");
  EXPECT_THAT(all_samples(*open_image_folder(dir.path(), {.classes = dir / "classes.txt"})),
              ElementsAre("train/bus/3.jpg 0", "train/train/1.jpg 1"));
}

TEST(FolderLayout, PicturesOfAFlatTestHaveNoLabels) {
  const TempDir dir;
  write_pictures(dir, {"train/cat/1.jpg", "train/dog/1.jpg", "test/2.jpg"});
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(all_samples(*source),
              ElementsAre("test/2.jpg -1", "train/cat/1.jpg 0", "train/dog/1.jpg 1"));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("test: its pictures are not in class folders")));
}

TEST(FolderLayout, ReadsTinyImagenetAsPublished) {
  const TempDir dir;
  write_pictures(dir, {"train/n01/images/n01_0.JPEG", "train/n02/images/n02_0.JPEG",
                       "val/images/val_0.JPEG", "val/images/val_1.JPEG", "test/images/t.JPEG"});
  write_file(dir / "train/n01/n01_boxes.txt", "x");
  write_file(dir / "wnids.txt", "n01");
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  write_file(dir / "val/val_annotations.txt",
             "val_0.JPEG\tn02\t0\t0\t9\t9\nval_1.JPEG\tn01\t1\t1\t2\t2\n");
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(source->classes(), ElementsAre("n01", "n02"));
  EXPECT_THAT(all_samples(*source),
              ElementsAre("test/images/t.JPEG -1", "train/n01/images/n01_0.JPEG 0",
                          "train/n02/images/n02_0.JPEG 1", "val/images/val_0.JPEG 1",
                          "val/images/val_1.JPEG 0"));
  write_pictures(dir, {"val/images/val_2.JPEG"});
  EXPECT_ERROR(open_image_folder(dir.path()), not_found);
}

TEST(FolderLayout, RefusesFoldersThatAreNoClasses) {
  {
    const TempDir dir;
    write_pictures(dir, {"train/.cat/1.jpg", "train/dog/1.jpg"});
    EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  }
  {
    const TempDir dir;
    write_pictures(dir, {"tiny/train/cat/1.jpg", "tiny/val/cat/1.jpg"});
    EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  }
  {
    const TempDir dir;
    write_pictures(dir, {"train/train/cat/1.jpg"});
    EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  }
  {
    const TempDir dir;
    write_pictures(dir, {"train/images/1.jpg", "val/images/1.jpg"});
    EXPECT_ERROR(open_image_folder(dir.path(), {.refuses_other_layouts = true}), invalid_argument);
  }
}

TEST(FolderLayout, NamesLinksToNothing) {
  const TempDir dir;
  write_pictures(dir, {"train/cat/1.jpg", "train/cow/2.jpg", "val/cat/2.jpg"});
  const auto link = [&dir](const char* name) {
    fs::create_symlink(dir / "gone", dir / name);
    return dir / name;
  };
  for (const char* folder : {"test", "train/dog", "train/cat/more"}) {
    const fs::path made = link(folder);
    EXPECT_ERROR(open_image_folder(dir.path()), not_found);
    fs::remove(made);
  }
  EXPECT_ERROR(open_image_folder(link("src")), not_found);
  fs::remove(dir / "src");
  fs::create_symlink("loop", dir / "loop");
  EXPECT_ERROR(open_image_folder(dir.path()), not_found);
  fs::remove(dir / "loop");
  // A picture is one bad sample.
  link("train/cat/3.jpg");
  const auto source = open_image_folder(dir.path());
  ASSERT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_ERROR(record_of(*source, 0, 1), unsupported);
}

TEST(FolderLayout, RefusesDataSetsThatAreNoClassFolders) {
  struct Case {
    std::vector<const char*> pictures;
    std::vector<const char*> others;
  };
  const std::vector<Case> cases = {
      {{"images/1.jpg", "annotations/trimaps/1.png"}, {}},              // Oxford Pets
      {{"images/pie/1.jpg", "images/cake/1.jpg"}, {"meta/train.txt"}},  // Food-101
      {{"jpg/1.jpg"}, {"imagelabels.mat"}},                             // Flowers
      {{"cars_train/1.jpg", "cars_test/1.jpg"}, {}},                    // Cars
      {{"JPEGImages/1.jpg", "SegmentationClass/1.png"}, {"Annotations/1.xml"}},
      {{"training/image_2/1.png", "testing/image_2/1.png"}, {"training/label_2/1.txt"}},
      {{"img_align_celeba/1.jpg"}, {"list_attr_celeba.txt"}},
      {{"images/train/1.jpg", "images/val/1.jpg"}, {"labels/train/1.txt", "data.yaml"}},
      {{"train/images/1.jpg", "val/images/1.jpg"}, {"train/labels/1.txt"}},
      {{"a/abbey/1.jpg", "b/bar/1.jpg"}, {"ClassName.txt"}},  // SUN397
      {{"bounding_box_test/1.jpg", "bounding_box_train/1.jpg", "query/1.jpg"}, {}},
      {{"trainA/1.jpg", "trainB/1.jpg"}, {}},  // CycleGAN
      {{"TrainDogs/1.jpg", "TestDogs/1.jpg"}, {}},
      {{"ISIC_2019_Training_Input/1.jpg", "ISIC_2019_Test_Input/1.jpg"}, {}},
      {{"Images_001/1.jpg", "Images_002/1.jpg"}, {}},
      {{"fold_0/a/1.jpg", "fold_1/a/1.jpg"}, {}},
      {{"cat/1.jpg", "dog/1.jpg"}, {"metadata.csv"}},
      {{"cat/1.jpg"}, {}},
      {{"train/cat/1.jpg", "val/cat/1.jpg"}, {}}};
  for (const Case& one : cases) {
    const TempDir dir;
    write_pictures(dir, one.pictures);
    for (const char* other : one.others) write_file(dir / other, "x");
    EXPECT_ERROR(open_image_folder(dir.path(), {.refuses_other_layouts = true}), invalid_argument)
        << one.pictures.front();
  }
  const TempDir others;
  write_pictures(others, {"test_tube/1.jpg", "face_masks/1.jpg", "part/1.jpg"});
  EXPECT_NO_THROW(open_image_folder(others.path(), {.refuses_other_layouts = true}));
  // With classes they are classes.
  const TempDir dir;
  write_pictures(dir, {"images/1.jpg", "query/1.jpg"});
  write_file(dir / "list.csv", "x");
  write_file(dir / "classes.txt", "query\nimages\nmore\n");
  const ImageFolderOptions options{.classes = dir / "classes.txt", .refuses_other_layouts = true};
  EXPECT_THAT(all_samples(*open_image_folder(dir.path(), options)),
              ElementsAre("train/images/1.jpg 1", "train/query/1.jpg 0"));
  // A later delivery lacks classes, and has none of its own.
  fs::remove_all(dir / "query");
  EXPECT_THAT(open_image_folder(dir.path(), options)->classes(),
              ElementsAre("query", "images", "more"));
  write_pictures(dir, {"cow/1.jpg"});
  EXPECT_ERROR(open_image_folder(dir.path(), options), invalid_argument);
}

TEST(FolderLayout, RefusesTinyImagenetsListsThatAreNone) {
  for (const char* list : {"val_0.JPEG\tn01\tx\n", "val_0.JPEG\tn01\nval_0.JPEG\tn02\n", ""}) {
    const TempDir dir;
    write_pictures(dir, {"train/n01/1.JPEG", "train/n02/2.JPEG", "val/images/val_0.JPEG"});
    write_file(dir / "val/val_annotations.txt", list);
    EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument) << list;
  }
}

void convert_folder(const TempDir& dir) {
  open_image_folder(dir.path(), {.refuses_other_layouts = true});
}

TEST(FolderLayout, PicturesAndWhatBelongsToThemAreNoClasses) {
  using Folders = std::vector<std::string>;
  for (const Folders& folders :
       {Folders{"depth", "rgb"}, Folders{"LR", "HR"}, Folders{"train_LR", "train_HR"},
        Folders{"images", "masks"}, Folders{"left", "right"}, Folders{"rgb", "depth", "normal"},
        Folders{"DIV2K_train_HR", "DIV2K_train_LR_bicubic"}}) {
    const TempDir dir;
    for (const std::string& folder : folders) {
      write_pictures(dir, {(folder + "/0001.jpg").c_str(), (folder + "/0002.jpg").c_str()});
    }
    EXPECT_ERROR(convert_folder(dir), invalid_argument) << folders[0];
    fs::remove(dir / folders[0] / "0001.jpg");
    const bool is_called_so = folders[0] != "left";
    if (is_called_so) {
      EXPECT_ERROR(convert_folder(dir), invalid_argument) << folders[0];
    } else {
      EXPECT_NO_THROW(convert_folder(dir));  // other names: two classes
    }
  }
  for (const Folders& folders : {Folders{"cat", "dog"}, Folders{"mask", "no_mask"},
                                 Folders{"high", "medium"}, Folders{"test_tube", "lens"}}) {
    const TempDir dir;
    for (const std::string& folder : folders) write_pictures(dir, {(folder + "/1.jpg").c_str()});
    EXPECT_NO_THROW(convert_folder(dir)) << folders[0];
  }
}

}  // namespace
}  // namespace ffkit
