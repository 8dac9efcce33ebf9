#include "sources/imagenet/archive_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include <ffkit/sources/imagenet.h>

#include "expect_error.h"
#include "pictures.h"
#include "tar_builder.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;
using testing::write_file;

// RFC 1321, A.5, and longer ones by md5sum(1).
TEST(Md5, AgreesWithTheRfc) {
  const TempDir dir;
  const auto sum = [&dir](const std::string& text) {
    write_file(dir / "x", text);
    return md5_of(InputFile(dir / "x"));
  };
  EXPECT_EQ(sum(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(sum("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(sum("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(sum(std::string(1'000'000, 'a')), "7707d6ae4e027c70eea2a935c2296f21");
  // Three blocks of 1 MiB and a part of one.
  EXPECT_EQ(sum(std::string(3'500'000, 'a')), "6a3124f439abb27f217d365a664ce7fc");
}

TEST(CheckArchives, TellsOfEachArchive) {
  const TempDir dir;
  write_file(dir / "a.tar", "abc");
  write_file(dir / "b.tar", "message digest");
  write_file(dir / "other.tar", "x");
  constexpr std::array kSums = {ArchiveSum{"a.tar", "900150983cd24fb0d6963f7d28e17f72"},
                                ArchiveSum{"b.tar", "f96b697d7cb7938d525a2f31aaf161d0"}};
  EXPECT_THAT(
      check_archives({dir / "b.tar", dir / "other.tar", dir / "a.tar"}, kSums),
      ElementsAre(HasSubstr("b.tar: is the official archive"), HasSubstr("other.tar: not checked"),
                  HasSubstr("a.tar: is the official archive")));
  write_file(dir / "b.tar", "message digesT");
  EXPECT_ERROR(check_archives({dir / "a.tar", dir / "b.tar"}, kSums), corrupt);
  EXPECT_ERROR(check_archives({dir / "b.tar"}, kSums), corrupt);
}

TEST(CheckArchives, RefusesAnArchiveThatIsNotTheOfficialOne) {
  const TempDir dir;
  write_file(
      dir / "ILSVRC2012_img_train.tar",
      testing::TarBuilder()
          .add("n01440764.tar",
               testing::TarBuilder().add("n01440764_1.JPEG", testing::jpeg_picture(1)).finish())
          .finish());
  EXPECT_EQ(open_imagenet(dir.path())->splits().size(), 1U);
  EXPECT_ERROR(open_imagenet(dir.path(), {.check_archives = true}), corrupt);
  // A folder has no sum.
  const TempDir tree;
  write_file(tree / "train/n01440764/1.JPEG", testing::jpeg_picture(1));
  EXPECT_ERROR(open_imagenet(tree.path(), {.check_archives = true}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
