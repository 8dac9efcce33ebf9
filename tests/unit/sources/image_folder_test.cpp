#include <ffkit/sources/folder.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

// "id label" of every sample of a split.
std::vector<std::string> folder_samples(const Source& source, size_t split) {
  std::vector<std::string> all;
  const Schema schema = source.schema();
  for (int64_t i = 0; i < source.splits()[split].num_samples; ++i) {
    const auto record = record_of(source, split, i);
    const RecordView view(schema, record);
    all.push_back(std::string(view.string(2)) + " " + std::to_string(view.scalar<int64_t>(1)));
  }
  return all;
}

TEST(ImageFolder, ReadsSplitsAndClasses) {
  const TempDir dir;
  const std::string jpeg = testing::jpeg_picture(1);
  for (const char* file : {"train/dog/b.jpg", "train/dog/a.JPEG", "train/cat/1.jpg",
                           "val/dog/z.jpg", "train/cow/x.jpg", "train/dog/more/c.jpg"}) {
    write_file(dir / file, jpeg);
  }
  const auto source = open_image_folder(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_EQ(source->splits()[0].num_bytes, 5 * static_cast<int64_t>(jpeg.size()));
  EXPECT_EQ(source->splits()[1].name, "val");
  EXPECT_FALSE(source->splits()[1].is_training);
  // One list for both splits.
  EXPECT_THAT(source->classes(), ElementsAre("cat", "cow", "dog"));
  EXPECT_THAT(folder_samples(*source, 0), ElementsAre("cat/1.jpg 0", "cow/x.jpg 1", "dog/a.JPEG 2",
                                                      "dog/b.jpg 2", "dog/more/c.jpg 2"));
  EXPECT_THAT(folder_samples(*source, 1), ElementsAre("dog/z.jpg 2"));
  EXPECT_THAT(source->notes(),
              ElementsAre(HasSubstr("val: has no picture of 2 of the 3 classes: 'cat', 'cow'")));
}

TEST(ImageFolder, TakesClassesWithoutSplitsAsTraining) {
  const TempDir dir;
  write_file(dir / "cat/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "dog/1.jpg", testing::jpeg_picture(2));
  fs::create_directory(dir / "aempty");
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
  fs::rename(dir / "aempty", dir / "@aempty");
  const auto source = open_image_folder(dir.path());
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_THAT(source->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(folder_samples(*source, 0), ElementsAre("cat/1.jpg 0", "dog/1.jpg 1"));
  EXPECT_THAT(source->notes(),
              ElementsAre(HasSubstr("'@aempty' holds no pictures, so it is not a class")));
}

// What a picture is, its first bytes say; what ends as a picture that is decoded is not opened.
TEST(ImageFolder, KnowsPicturesByTheirContent) {
  const TempDir dir;
  const std::string gif = "GIF89a" + std::string(20, '\0');
  write_file(dir / "cat/1.jfif", testing::jpeg_picture(1));
  write_file(dir / "cat/2", testing::jpeg_picture(2));
  write_file(dir / "cat/3.gif", "no picture");
  write_file(dir / "dog/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "dog/2.gif", gif);
  const auto source = open_image_folder(dir.path());
  EXPECT_THAT(source->notes(), ElementsAre(HasSubstr("1 file was left out: it is not a picture")));
  ASSERT_EQ(source->splits()[0].num_samples, 4);
  EXPECT_NO_THROW(record_of(*source, 0, 1));
  EXPECT_ERROR(record_of(*source, 0, 3), unsupported, .path = dir / "dog/2.gif");
  // A class of them alone would vanish under --bad-samples skip.
  for (const auto& [name, bytes] : {std::pair<const char*, std::string>{"1.gif", gif},
                                    {"1.heic", std::string("\0\0\0\x18"
                                                           "ftypheic\0\0\0\0",
                                                           16)},
                                    {"1.avif", std::string("\0\0\0\x18"
                                                           "ftypavif\0\0\0\0",
                                                           16)},
                                    {"1.tif", std::string("II*\0\0\0\0\0", 8)},
                                    {"1.dat", gif}}) {
    write_file(dir / "cow" / name, bytes);
    EXPECT_ERROR(open_image_folder(dir.path()), unsupported) << name;
    fs::remove_all(dir / "cow");
  }
}

TEST(ImageFolder, CountsWhatIsNoPicture) {
  const TempDir dir;
  write_file(dir / "train/cat/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "train/dog/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "train/cat/readme.txt", "x");
  write_file(dir / "train/cat/._1.jpg", "AppleDouble");
  write_file(dir / "train/cat/.hidden/1.jpg", "x");
  const auto source = open_image_folder(dir.path());
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("2 files were left out: they are not pictures; 1 folder of "
                                 "pictures was left out: its name begins with a dot")));
}

TEST(ImageFolder, FollowsLinksToFilesAndToClassFolders) {
  const TempDir dir;
  write_file(dir / "store/blob", testing::jpeg_picture(1));
  write_file(dir / "store/cats/1.jpg", testing::jpeg_picture(2));
  fs::create_directories(dir / "src/train/dog");
  fs::create_symlink(dir / "store/blob", dir / "src/train/dog/1.jpg");
  fs::create_directory_symlink(dir / "store/cats", dir / "src/train/cat");
  EXPECT_THAT(folder_samples(*open_image_folder(dir / "src"), 0),
              ElementsAre("cat/1.jpg 0", "dog/1.jpg 1"));
}

TEST(ImageFolder, FollowsLinksToFoldersInAClass) {
  const TempDir dir;
  write_file(dir / "store/more/2.jpg", testing::jpeg_picture(2));
  write_file(dir / "src/train/cat/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "src/train/dog/1.jpg", testing::jpeg_picture(1));
  fs::create_directory_symlink(dir / "store", dir / "src/train/cat/linked");
  EXPECT_THAT(folder_samples(*open_image_folder(dir / "src"), 0),
              ElementsAre("cat/1.jpg 0", "cat/linked/more/2.jpg 0", "dog/1.jpg 1"));
}

TEST(ImageFolder, RefusesALinkToAFolderAbove) {
  const TempDir dir;
  write_file(dir / "train/cat/sub/1.jpg", testing::jpeg_picture(1));
  fs::create_directory_symlink("..", dir / "train/cat/sub/up");
  EXPECT_ERROR(open_image_folder(dir.path()), unsupported);
}

TEST(ImageFolder, SaysWhatItExpected) {
  const TempDir dir;
  EXPECT_ERROR(open_image_folder(dir / "none"), not_found);
  EXPECT_ERROR(open_image_folder(dir.path()), not_found);
  fs::create_directories(dir / "train/cat");
  EXPECT_ERROR(open_image_folder(dir.path()), not_found);
  write_file(dir / "train/cat/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "stray/1.jpg", testing::jpeg_picture(1));
  EXPECT_ERROR(open_image_folder(dir.path()), invalid_argument);
}

// The fingerprint of the source tells what was listed.
TEST(ImageFolder, RefusesAFileThatChangedAfterItWasListed) {
  const TempDir dir;
  write_file(dir / "train/dog/1.jpg", testing::jpeg_picture(1));
  const fs::path file = dir / "train/cat/1.jpg";
  write_file(file, testing::jpeg_picture(1));
  const auto listed_at = fs::last_write_time(file);
  const auto source = open_image_folder(dir.path());
  EXPECT_NO_THROW(record_of(*source, 0, 0));
  fs::last_write_time(file, listed_at + std::chrono::seconds(1));
  EXPECT_ERROR(record_of(*source, 0, 0), not_found);
  write_file(file, testing::jpeg_picture(1) + "x");
  fs::last_write_time(file, listed_at);
  EXPECT_ERROR(record_of(*source, 0, 0), not_found);
}

TEST(ImageFolder, NamesTheFileThatIsNoPicture) {
  const TempDir dir;
  write_file(dir / "train/dog/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "train/cat/1.jpg", "text");
  write_file(dir / "train/cat/2.jpg", "");
  const auto source = open_image_folder(dir.path());
  EXPECT_ERROR(record_of(*source, 0, 0), unsupported, .path = dir / "train/cat/1.jpg");
  EXPECT_ERROR(record_of(*source, 0, 1), corrupt, .path = dir / "train/cat/2.jpg");
}

TEST(ImageFolder, IsItsOwnRoot) {
  const TempDir dir;
  write_file(dir / "train/dog/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "train/cat/1.jpg", testing::jpeg_picture(1));
  EXPECT_THAT(open_image_folder(dir.path())->roots(), ElementsAre(fs::canonical(dir.path())));
}

TEST(ImageFolder, RefusesWhatIsNoFile) {
  const TempDir dir;
  write_file(dir / "train/dog/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "train/cat/1.jpg", testing::jpeg_picture(1));
  ASSERT_EQ(mkfifo((dir / "train/cat/2.jpg").c_str(), 0600), 0);
  EXPECT_ERROR(open_image_folder(dir.path()), unsupported);
  fs::remove(dir / "train/cat/2.jpg");
  fs::create_symlink("/dev/zero", dir / "train/cat/3.jpg");
  EXPECT_ERROR(open_image_folder(dir.path()), unsupported);
}

TEST(ImageFolder, RefusesNamesThatAreNoText) {
  const TempDir dir;
  write_file(dir / "train/dog/1.jpg", testing::jpeg_picture(1));
  write_file(dir / "train/cat/caf\xe9.jpg", testing::jpeg_picture(1));
  EXPECT_ERROR(folder_samples(*open_image_folder(dir.path()), 0), unsupported);
  write_file(dir / "train/c\xe4t/1.jpg", testing::jpeg_picture(1));
  EXPECT_ERROR(open_image_folder(dir.path()), unsupported);
}

}  // namespace
}  // namespace ffkit
