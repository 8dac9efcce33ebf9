#include "sources/tar_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ffkit/format/error.h>

#include "tar_builder.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::read_file;
using testing::TarBuilder;
using testing::TempDir;
using testing::write_file;

std::string content(const std::filesystem::path& path, const TarMember& member) {
  return read_file(path).substr(static_cast<size_t>(member.data.offset),
                                static_cast<size_t>(member.data.num_bytes));
}

// The message of the Error that indexing `bytes` throws; empty when it throws none.
std::string error_of(const std::string& bytes) {
  const TempDir dir;
  write_file(dir / "a.tar", bytes);
  try {
    index_tar(InputFile(dir / "a.tar"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TarIndex, FindsWhereTheMembersLie) {
  const TempDir dir;
  const std::string big(100'000, 'b');
  write_file(dir / "a.tar", TarBuilder()
                                .add("./one.jpg", "first")
                                .add("folder/", "", '5')
                                .add("folder/two.jpg", big)
                                .add("empty.jpg", "")
                                .add("last.jpg", "last")
                                .finish());
  const auto members = index_tar(InputFile(dir / "a.tar"));
  ASSERT_EQ(members.size(), 4U);
  EXPECT_EQ(members[0].name, "one.jpg");
  EXPECT_EQ(content(dir / "a.tar", members[0]), "first");
  EXPECT_EQ(members[1].name, "folder/two.jpg");
  EXPECT_EQ(content(dir / "a.tar", members[1]), big);
  EXPECT_EQ(content(dir / "a.tar", members[2]), "");
  EXPECT_EQ(content(dir / "a.tar", members[3]), "last");
}

TEST(TarIndex, FindsDataBehindLongNames) {
  const TempDir dir;
  const std::string name = std::string(200, 'n') + ".jpg";
  // Long enough that the extra header spans several of the reader's 4 KiB blocks.
  const std::string longer = std::string(9000, 'm') + ".jpg";
  write_file(dir / "a.tar", TarBuilder()
                                .add_gnu_long(name, "gnu")
                                .add_pax("path", name, "short", "pax")
                                .add_pax("path", longer, "short", "pax again")
                                .add("plain.jpg", "plain")
                                .finish());
  const auto members = index_tar(InputFile(dir / "a.tar"));
  ASSERT_EQ(members.size(), 4U);
  EXPECT_EQ(members[0].name, name);
  EXPECT_EQ(content(dir / "a.tar", members[0]), "gnu");
  EXPECT_EQ(members[1].name, name);
  EXPECT_EQ(content(dir / "a.tar", members[1]), "pax");
  EXPECT_EQ(members[2].name, longer);
  EXPECT_EQ(content(dir / "a.tar", members[2]), "pax again");
  EXPECT_EQ(content(dir / "a.tar", members[3]), "plain");
}

TEST(TarIndex, IndexesATarWithinATar) {
  const TempDir dir;
  const std::string inner = TarBuilder().add("x.jpg", "inner x").add("y.jpg", "inner y").finish();
  write_file(dir / "a.tar", TarBuilder().add("n0.tar", inner).add("n1.tar", inner).finish());
  const InputFile file(dir / "a.tar");
  const auto outer = index_tar(file);
  ASSERT_EQ(outer.size(), 2U);
  const auto members = index_tar(file, outer[1].data, "a.tar: n1.tar");
  ASSERT_EQ(members.size(), 2U);
  EXPECT_GT(members[0].data.offset, outer[1].data.offset);
  EXPECT_EQ(content(dir / "a.tar", members[1]), "inner y");
}

TEST(TarIndex, RefusesHostileMembers) {
  const auto with = [](const std::string& name, char type, const std::string& link) {
    return error_of(TarBuilder().add("good.jpg", "g").add(name, "", type, link).finish());
  };
  EXPECT_THAT(with("/etc/passwd", '0', ""), HasSubstr("'/etc/passwd' has an absolute path"));
  EXPECT_THAT(with("../x.jpg", '0', ""), HasSubstr("'../x.jpg' leads out of the archive by '..'"));
  EXPECT_THAT(with("a/../../x.jpg", '0', ""), HasSubstr("leads out of the archive"));
  EXPECT_THAT(with("..", '5', ""), HasSubstr("leads out of the archive"));
  EXPECT_THAT(with("link.jpg", '2', "/etc/passwd"), HasSubstr("'link.jpg' is a link"));
  EXPECT_THAT(with("link.jpg", '1', "good.jpg"), HasSubstr("'link.jpg' is a link"));
  EXPECT_THAT(with("dev.jpg", '3', ""), HasSubstr("'dev.jpg' is no plain file"));
  EXPECT_THAT(with("fifo.jpg", '6', ""), HasSubstr("'fifo.jpg' is no plain file"));
}

TEST(TarIndex, RefusesASparseMember) {
  const std::string map = "2\n0\n5\n2000\n5\n";
  const std::string header = TarBuilder::pax_record("GNU.sparse.major", "1") +
                             TarBuilder::pax_record("GNU.sparse.minor", "0") +
                             TarBuilder::pax_record("GNU.sparse.name", "holes.jpg") +
                             TarBuilder::pax_record("GNU.sparse.realsize", "2005");
  EXPECT_THAT(
      error_of(TarBuilder()
                   .add("PaxHeaders/x", header, 'x')
                   .add("GNUSparseFile/x", map + std::string(512 - map.size(), '\0') + "firstlasts")
                   .finish()),
      HasSubstr("'holes.jpg' is a sparse file"));
}

TEST(TarIndex, RefusesASizeBeyondTheFile) {
  std::string bytes = TarBuilder().add("huge.jpg", "x").finish();
  // 8 GiB - 1 in octal, with the header's checksum mended.
  TarBuilder huge;
  bytes.replace(124, 11, "77777777777");
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(bytes[i]);
  }
  std::snprintf(bytes.data() + 148, 8, "%06o", sum);
  EXPECT_THAT(error_of(bytes), HasSubstr("member 'huge.jpg' needs 8589934591 bytes but 1536 are"));
}

TEST(TarIndex, NoticesEveryCut) {
  const TarBuilder builder = TarBuilder()
                                 .add("one.jpg", std::string(700, '1'))
                                 .add_pax("path", "two.jpg", "short", std::string(5000, '2'))
                                 .add("three.jpg", "");
  const std::string whole = builder.finish();
  EXPECT_EQ(error_of(whole), "");
  for (size_t length = 0; length < builder.size() + 512; length += 64) {
    const std::string message = error_of(whole.substr(0, length));
    ASSERT_THAT(message, AllOf(HasSubstr("a.tar"), HasSubstr("cut short"),
                               HasSubstr("download or copy it again")))
        << "cut to " << length << " bytes";
  }
}

TEST(TarIndex, RefusesWhatIsNoTar) {
  EXPECT_THAT(error_of(std::string(5000, 'x')), HasSubstr("is not an uncompressed tar archive"));
  EXPECT_THAT(error_of("\x1f\x8b\x08" + std::string(5000, '\0')), HasSubstr("tar archive"));
}

}  // namespace
}  // namespace ffkit
