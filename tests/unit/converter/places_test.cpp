#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

std::vector<std::string> names(const std::string& path) {
  std::vector<std::string> all;
  for (const fs::path& one : expand_braces(path)) all.push_back(one.string());
  return all;
}

TEST(BraceList, CountsWithZeros) {
  EXPECT_THAT(
      names("s3://b/x-{008..011}.tar"),
      ElementsAre("s3://b/x-008.tar", "s3://b/x-009.tar", "s3://b/x-010.tar", "s3://b/x-011.tar"));
  EXPECT_THAT(names("x{9..11}"), ElementsAre("x9", "x10", "x11"));
  EXPECT_THAT(names("x{10..11}"), ElementsAre("x10", "x11"));
  EXPECT_EQ(names("s-{000000..000640}.tar").size(), 641U);
}

TEST(BraceList, HasNamesAndSeveralLists) {
  EXPECT_THAT(names("{train,val}-{0..1}"), ElementsAre("train-0", "train-1", "val-0", "val-1"));
  EXPECT_THAT(names("x{,.gz}"), ElementsAre("x", "x.gz"));
}

TEST(BraceList, LeavesOtherBracesAsTheyAre) {
  for (const char* path : {"s3://b/{x}", "a{", "a}b{", "plain", "{a{b,c}}"}) {
    EXPECT_FALSE(is_brace_list(path)) << path;
    EXPECT_THAT(names(path), ElementsAre(path));
  }
}

TEST(BraceList, RefusesWhatIsNoRange) {
  for (const char* path : {"{a..c}", "{5..1}", "{1..}", "{0..99999999}", "{0..999}{0..9999}",
                           "{-1..3}", "{1..9999999999999999999}"}) {
    EXPECT_ERROR_CODE(expand_braces(path), invalid_argument);
  }
  EXPECT_ERROR(expand_braces("shard-{5..1}.tar"), invalid_argument);
}

TEST(BraceList, IsNoListWhereSuchAFileIs) {
  const testing::TempDir dir;
  const fs::path path = dir / "x-{0..1}";
  EXPECT_TRUE(is_brace_list(path));
  std::ofstream(path) << "x";
  EXPECT_FALSE(is_brace_list(path));
}

TEST(NameBelow, IsThePathBelowTheSource) {
  EXPECT_EQ(name_below("s3://b/set", "s3://b/set/train/0.tar"), "train/0.tar");
  EXPECT_EQ(name_below("s3://b/set/", "s3://b/set/train/0.tar"), "train/0.tar");
  EXPECT_EQ(name_below("/data", "/data/0.tar"), "0.tar");
  EXPECT_EQ(name_below("/data/0.tar", "/data/0.tar"), "0.tar");
  EXPECT_EQ(name_below("s3://b/set/x-{0..1}.tar", "s3://b/set/x-0.tar"), "x-0.tar");
  EXPECT_EQ(name_below("s3://b/{a,b}/0.tar", "s3://b/a/0.tar"), "a/0.tar");
  EXPECT_EQ(name_below("https://h/0.tar?sign=x", "https://h/0.tar"), "0.tar");
}

TEST(Place, HasNoQueryInNames) {
  EXPECT_EQ(absolute_name("https://h/a/b.tar?X-Amz-Signature=s"), "https://h/a/b.tar");
  EXPECT_EQ(name_of_file("https://h/a/b.tar?X-Amz-Signature=s/t"), "b.tar");
  EXPECT_EQ(absolute_name("s3://b/what?x/"), "s3://b/what?x");
  EXPECT_EQ(canonical_place("s3://b/set//"), "s3://b/set");
}

TEST(VersionNumber, DoesNotDependOnHowItIsWritten) {
  EXPECT_EQ(version_number("\"abc\""), version_number("abc"));
  EXPECT_EQ(version_number("W/\"abc\""), version_number("abc"));
  EXPECT_NE(version_number("abc"), version_number("abd"));
  EXPECT_GE(version_number("abc"), 0);
  EXPECT_EQ(version_number(""), 0);
  EXPECT_EQ(version_number("\"\""), 0);
}

// The same answers for a folder of a store (file://) as for one of a disk.
TEST(FolderEntries, AreThoseOfTheDisk) {
  const testing::TempDir dir;
  fs::create_directories(dir / "below");
  std::ofstream(dir / "file") << "x";
  std::ofstream(dir / "below" / "other") << "xyz";
  for (const std::string scheme : {"", "file://", "FILE://"}) {
    const fs::path place = scheme + (dir / "").string();
    std::vector<std::string> found;
    for (const FolderEntry& entry : FolderEntries(place)) {
      found.push_back(entry.path().filename().string() + (entry.is_directory() ? "/" : ""));
    }
    EXPECT_THAT(found, ::testing::UnorderedElementsAre("file", "below/"));
    EXPECT_TRUE(is_folder_at(place));
    EXPECT_TRUE(exists_at(place / "file"));
    EXPECT_FALSE(is_folder_at(place / "file"));
    EXPECT_FALSE(exists_at(place / "nothing"));
    EXPECT_TRUE(exists_at(place / "below"));
    EXPECT_TRUE(has_file_at(place / "file"));
    EXPECT_FALSE(has_file_at(place / "nothing"));
    EXPECT_FALSE(has_file_at(place / "below"));
    EXPECT_EQ(file_beside(place / "nothing", "file"), Place(place / "file").path());
    EXPECT_EQ(file_beside(place / "file", "nothing"), std::nullopt);
    EXPECT_EQ(file_beside(place / "file", "below"), std::nullopt);
  }
}

// A request for it would have the signature of another file, or end up in the query.
TEST(FileBeside, IsNotLookedForWhereAnAddressHasAQuery) {
  EXPECT_EQ(file_beside("https://127.0.0.1:1/a.rec?signature=x/y", "a.lst"), std::nullopt);
}

TEST(PlacesListed, AsksForAFolderOnce) {
  const testing::TempDir dir;
  for (int i = 0; i < 10; ++i) std::ofstream(dir / std::to_string(i)) << "x";
  const fs::path place = "file://" + dir.path().string();
  {
    const PlacesListed listed;
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(object_at(place / std::to_string(i)));
    fs::remove(dir / "9");
    EXPECT_TRUE(object_at(place / "9")) << "the folder was listed";
  }
  EXPECT_FALSE(object_at(place / "9"));
}

}  // namespace
}  // namespace ffkit
