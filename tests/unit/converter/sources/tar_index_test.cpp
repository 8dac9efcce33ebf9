#include "sources/archives/tar_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>

#include <ffkit/format/error.h>

#include "expect_error.h"
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
std::string tar_error(const std::string& bytes) {
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
    return tar_error(TarBuilder().add("good.jpg", "g").add(name, "", type, link).finish());
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
  EXPECT_THAT(tar_error(TarBuilder()
                            .add("PaxHeaders/x", header, 'x')
                            .add("GNUSparseFile/x",
                                 map + std::string(512 - map.size(), '\0') + "firstlasts")
                            .finish()),
              HasSubstr("'holes.jpg' is a sparse file"));
}

// One member, `bytes` with a field of its header replaced and the header's sum mended.
std::string with_field(std::string bytes, size_t offset, const std::string& field) {
  bytes.replace(offset, field.size(), field);
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(bytes[i]);
  }
  std::snprintf(bytes.data() + 148, 8, "%06o", sum);
  return bytes;
}

TEST(TarIndex, RefusesASizeBeyondTheFile) {
  // 8 GiB - 1 in octal.
  EXPECT_THAT(tar_error(with_field(TarBuilder().add("huge.jpg", "x").finish(), 124, "77777777777")),
              HasSubstr("member 'huge.jpg' needs 8589934591 bytes but 1536 are"));
}

TEST(TarIndex, RefusesAbsurdSizes) {
  const auto with_size = [](const std::string& field) {
    return tar_error(with_field(TarBuilder().add("huge.jpg", "x").finish(), 124, field));
  };
  // Twelve bytes of which the first has its highest bit set are a binary number.
  const std::string zeros(3, '\0');
  EXPECT_THAT(with_size("\x80" + zeros + "\x7f" + std::string(7, '\xff')), HasSubstr("cut short"));
  EXPECT_THAT(with_size("\x80" + zeros + "\xff" + std::string(7, '\xff')), HasSubstr("a.tar"));
  EXPECT_THAT(with_size(std::string(12, '\xff')), HasSubstr("a.tar"));  // -1
  EXPECT_THAT(tar_error(TarBuilder().add_pax("size", "9223372036854775807", "a.jpg", "x").finish()),
              HasSubstr("cut short"));
  EXPECT_THAT(tar_error(TarBuilder().add_pax("size", "-1", "a.jpg", "x").finish()),
              HasSubstr("a.tar"));
}

TEST(TarIndex, RefusesNamesThatAreNoText) {
  for (const char* name : {"caf\xe9.jpg", "\xc0\xaf.jpg", "\xff\xfe.jpg"}) {
    EXPECT_THAT(tar_error(TarBuilder().add(name, "x").finish()),
                HasSubstr("that is no UTF-8 text"));
    // libarchive may find no name in it at all.
    EXPECT_NE(tar_error(TarBuilder().add_pax("path", name, "short", "x").finish()), "");
  }
  EXPECT_EQ(tar_error(TarBuilder().add("Öl.jpg", "x").finish()), "");
  EXPECT_EQ(tar_error(TarBuilder().add_pax("path", "Öl.jpg", "short", "x").finish()), "");
}

TEST(TarIndex, MessagesAboutAnyNameAreOneLine) {
  const std::string message = tar_error(TarBuilder().add("../a\nb\x1b[2J.jpg", "x").finish());
  EXPECT_THAT(message, HasSubstr("member '../a\\nb\\x1b[2J.jpg' leads out"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

// GNU's old form: type 'S', with a map of {offset, length} and the size with holes in the header.
TEST(TarIndex, RefusesAnOldSparseMember) {
  const std::string bytes = TarBuilder().add("holes.jpg", "first", 'S').finish();
  const std::string gnu = with_field(bytes, 257, std::string("ustar  \0", 8));
  const std::string map = with_field(gnu, 386, std::string("00000000000\00000000000005\0", 24));
  EXPECT_THAT(tar_error(with_field(map, 483, std::string("00000004000\0", 12))),
              HasSubstr("'holes.jpg' is a sparse file"));
}

TEST(TarIndex, RefusesArchivesThatWereJoined) {
  const std::string one = TarBuilder().add("one.jpg", "1").finish();
  const std::string two = TarBuilder().add("two.jpg", "2").finish();
  for (const size_t padding : {size_t{0}, size_t{512}, size_t{1} << 17}) {
    EXPECT_THAT(tar_error(one + std::string(padding, '\0') + two),
                HasSubstr("another archive begins behind the end of this one"))
        << padding;
    EXPECT_EQ(tar_error(one + std::string(padding, '\0')), "");
  }
  EXPECT_EQ(tar_error(one + std::string(700, 'x')), "");
}

// Old Ant's writer does not clear its buffer: behind the mark is what the record before had there.
TEST(TarIndex, PassesOverLeftoversInTheLastRecord) {
  const TarBuilder builder = TarBuilder()
                                 .add("1.jpg", std::string(3000, '1'))
                                 .add("2.jpg", std::string(2000, '2'))
                                 .add("3.jpg", std::string(100, '3'));
  constexpr size_t kRecord = 10240;
  std::string bytes = builder.finish();
  ASSERT_LT(bytes.size(), kRecord);
  const std::string old = TarBuilder().add("old.jpg", std::string(9000, 'o')).finish();
  const std::string with_old = bytes + old.substr(0, kRecord - bytes.size());
  EXPECT_EQ(tar_error(with_old), "");
  EXPECT_THAT(tar_error(with_old + std::string(512, '\0')), HasSubstr("another archive begins"));
  // A small archive that fills the record as if by chance is one.
  const std::string small = TarBuilder().add("4.jpg", "4").finish();
  ASSERT_GE(kRecord - bytes.size(), small.size());
  const std::string joined = bytes + small;
  EXPECT_THAT(tar_error(joined + std::string(kRecord - joined.size(), '\0')),
              HasSubstr("another archive begins"));
}

TEST(TarIndex, SaysHowToMendWhatIsWhole) {
  const TarBuilder builder = TarBuilder().add("1.jpg", "1");
  EXPECT_THAT(
      tar_error(builder.finish().substr(0, builder.size())),
      HasSubstr("download or copy it again, or, if its writer leaves the mark out, add 1,024 "
                "zeros with head -c 1024 /dev/zero >> FILE"));
  EXPECT_THAT(tar_error(TarBuilder().add("a.jpg", "", '1', "b.jpg").finish()),
              HasSubstr("'a.jpg' is a link to 'b.jpg' (tar --dereference --hard-dereference"));
}

TEST(TarIndex, SaysWhatAFileIsThatIsNoTar) {
  const std::string rest(5000, '\1');
  EXPECT_THAT(tar_error("\x1f\x8b\x08" + rest),
              HasSubstr("is gzip data, and not a plain tar archive; decompress it"));
  EXPECT_THAT(tar_error("\x28\xb5\x2f\xfd" + rest), HasSubstr("is zstd data"));
  EXPECT_THAT(tar_error("PK\x03\x04" + rest), HasSubstr("is a ZIP archive, and not"));
  EXPECT_THAT(tar_error("<!DOCTYPE html><html>" + rest), HasSubstr("is an HTML page, and not"));
  EXPECT_THAT(tar_error("version https://git-lfs.github.com/spec/v1\noid sha256:" + rest),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(tar_error("PK\x03\x04 and few bytes"), HasSubstr("is a ZIP archive, and not"));
  // A name is not what the file is.
  EXPECT_EQ(tar_error(TarBuilder().add("GIF89a.gif", "1").finish()), "");
  EXPECT_EQ(tar_error(TarBuilder().add("BZh91AY&SY", "1").finish()), "");
}

TEST(InputFile, NoticesThatItIsWrittenTo) {
  const TempDir dir;
  write_file(dir / "a.tar", "0123456789");
  const InputFile file(dir / "a.tar");
  std::array<std::byte, 4> bytes{};
  EXPECT_NO_THROW(file.read_at(2, bytes));
  std::filesystem::last_write_time(
      dir / "a.tar", std::filesystem::last_write_time(dir / "a.tar") + std::chrono::seconds(1));
  EXPECT_ERROR(file.read_at(2, bytes), not_found, "a.tar: was changed after it was listed");
}

TEST(TarIndex, NoticesEveryCut) {
  const TarBuilder builder = TarBuilder()
                                 .add("one.jpg", std::string(700, '1'))
                                 .add_pax("path", "two.jpg", "short", std::string(5000, '2'))
                                 .add("three.jpg", "");
  const std::string whole = builder.finish();
  EXPECT_EQ(tar_error(whole), "");
  for (size_t length = 0; length < builder.size() + 512; length += 64) {
    const std::string message = tar_error(whole.substr(0, length));
    ASSERT_THAT(message, AllOf(HasSubstr("a.tar"), HasSubstr("cut short"),
                               HasSubstr("download or copy it again")))
        << "cut to " << length << " bytes";
  }
}

TEST(TarIndex, RefusesWhatIsNoTar) {
  EXPECT_THAT(tar_error(std::string(5000, 'x')), HasSubstr("is not an uncompressed tar archive"));
  EXPECT_THAT(tar_error("\x1f\x8b\x08" + std::string(5000, '\0')), HasSubstr("tar archive"));
}

}  // namespace
}  // namespace ffkit
