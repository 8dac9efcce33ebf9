#include "sources/archives/tar_index.h"

#include <ffkit/sources/imagenet.h>

#include "sources/imagenet/imagenet_layout.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

std::string content(const std::filesystem::path& path, const TarMember& member) {
  return read_file(path).substr(static_cast<size_t>(member.data.offset),
                                static_cast<size_t>(member.data.num_bytes));
}

void index_bytes(const std::string& bytes) {
  const TempDir dir;
  write_file(dir / "a.tar", bytes);
  index_tar(InputFile(dir / "a.tar"));
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

// What index_tar() gives or says, of the file on a disk or by its address.
std::string told(const std::filesystem::path& path, bool is_in_store) {
  const InputFile file(is_in_store ? std::filesystem::path("file://" + path.string()) : path);
  std::string text;
  try {
    for (const TarMember& member : index_tar(file, {0, file.size()}, "a.tar")) {
      text += member.name + " " + std::to_string(member.data.offset) + " " +
              std::to_string(member.data.num_bytes) + "\n";
    }
  } catch (const Error& error) {
    text = error.what();
  }
  return text;
}

// Of a store, a long tar is read in segments, whose begins are guessed.
TEST(TarIndex, IsTheSameInSegments) {
  const TempDir dir;
  std::mt19937 draw(1);
  TarBuilder inner;
  for (int i = 0; i < 30; ++i)
    inner.add("inner-" + std::to_string(i), std::string(draw() % 3000, 'i'));
  TarBuilder tar;
  for (int i = 0; i < 3000; ++i) {
    const std::string data(draw() % 20'000, 'x');
    const std::string name = std::to_string(i) + ".jpg";
    switch (draw() % 16) {
      case 0:
        tar.add_pax("path", std::string(150, 'p') + name, "short", data);
        break;
      case 1:
        tar.add_gnu_long(std::string(150, 'g') + name, data);
        break;
      case 2:
        tar.add(name, inner.finish());  // its headers are none of the archive's
        break;
      case 3:
        tar.add("folder-" + name + "/", "", '5');
        break;
      default:
        tar.add(name, data);
    }
  }
  const std::string whole = tar.finish();
  write_file(dir / "a.tar", whole);
  const std::string expected = told(dir / "a.tar", false);
  EXPECT_GT(std::ranges::count(expected, '\n'), 2500);
  EXPECT_EQ(told(dir / "a.tar", true), expected);
  // Cut, damaged, with another archive's remains behind its end.
  for (int i = 0; i < 40; ++i) {
    std::string changed = whole;
    if (i % 2 == 0) {
      changed.resize(draw() % changed.size());
    } else {
      const size_t at = draw() % changed.size() / 512 * 512;
      changed.replace(at, 512, std::string(512, static_cast<char>(i % 4 == 1 ? 0 : 'z')));
    }
    write_file(dir / "a.tar", changed);
    EXPECT_EQ(told(dir / "a.tar", true), told(dir / "a.tar", false)) << i;
  }
}

TEST(TarIndex, RefusesHostileMembers) {
  const auto with = [](const std::string& name, char type, const std::string& link) {
    index_bytes(TarBuilder().add("good.jpg", "g").add(name, "", type, link).finish());
  };
  EXPECT_ERROR(with("/etc/passwd", '0', ""), unsupported);
  EXPECT_ERROR(with("../x.jpg", '0', ""), unsupported);
  EXPECT_ERROR(with("a/../../x.jpg", '0', ""), unsupported);
  EXPECT_ERROR(with("..", '5', ""), unsupported);
  EXPECT_ERROR(with("link.jpg", '2', "/etc/passwd"), unsupported);
  EXPECT_ERROR(with("link.jpg", '1', "good.jpg"), unsupported);
  EXPECT_ERROR(with("dev.jpg", '3', ""), unsupported);
  EXPECT_ERROR(with("fifo.jpg", '6', ""), unsupported);
}

TEST(TarIndex, RefusesASparseMember) {
  const std::string map = "2\n0\n5\n2000\n5\n";
  const std::string header = TarBuilder::pax_record("GNU.sparse.major", "1") +
                             TarBuilder::pax_record("GNU.sparse.minor", "0") +
                             TarBuilder::pax_record("GNU.sparse.name", "holes.jpg") +
                             TarBuilder::pax_record("GNU.sparse.realsize", "2005");
  EXPECT_ERROR(index_bytes(TarBuilder()
                               .add("PaxHeaders/x", header, 'x')
                               .add("GNUSparseFile/x",
                                    map + std::string(512 - map.size(), '\0') + "firstlasts")
                               .finish()),
               unsupported);
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
  EXPECT_ERROR(
      index_bytes(with_field(TarBuilder().add("huge.jpg", "x").finish(), 124, "77777777777")),
      corrupt);
}

TEST(TarIndex, RefusesAbsurdSizes) {
  const auto with_size = [](const std::string& field) {
    index_bytes(with_field(TarBuilder().add("huge.jpg", "x").finish(), 124, field));
  };
  // Twelve bytes of which the first has its highest bit set are a binary number.
  const std::string zeros(3, '\0');
  EXPECT_ERROR(with_size("\x80" + zeros + "\x7f" + std::string(7, '\xff')), corrupt);
  EXPECT_ERROR(with_size("\x80" + zeros + "\xff" + std::string(7, '\xff')), corrupt);
  EXPECT_ERROR(with_size(std::string(12, '\xff')), corrupt);  // -1
  EXPECT_ERROR(
      index_bytes(TarBuilder().add_pax("size", "9223372036854775807", "a.jpg", "x").finish()),
      corrupt);
  EXPECT_ERROR(index_bytes(TarBuilder().add_pax("size", "-1", "a.jpg", "x").finish()), corrupt);
}

TEST(TarIndex, RefusesNamesThatAreNoText) {
  for (const char* name : {"caf\xe9.jpg", "\xc0\xaf.jpg", "\xff\xfe.jpg"}) {
    EXPECT_ERROR(index_bytes(TarBuilder().add(name, "x").finish()), unsupported);
    // libarchive may find no name in it at all.
    EXPECT_ERROR(index_bytes(TarBuilder().add_pax("path", name, "short", "x").finish()),
                 unsupported);
  }
  EXPECT_NO_THROW(index_bytes(TarBuilder().add("Öl.jpg", "x").finish()));
  EXPECT_NO_THROW(index_bytes(TarBuilder().add_pax("path", "Öl.jpg", "short", "x").finish()));
}

TEST(TarIndex, MessagesAboutAnyNameAreOneLine) {
  EXPECT_ERROR(index_bytes(TarBuilder().add("../a\nb\x1b[2J.jpg", "x").finish()), unsupported);
}

// GNU's old form: type 'S', with a map of {offset, length} and the size with holes in the header.
TEST(TarIndex, RefusesAnOldSparseMember) {
  const std::string bytes = TarBuilder().add("holes.jpg", "first", 'S').finish();
  const std::string gnu = with_field(bytes, 257, std::string("ustar  \0", 8));
  const std::string map = with_field(gnu, 386, std::string("00000000000\00000000000005\0", 24));
  EXPECT_ERROR(index_bytes(with_field(map, 483, std::string("00000004000\0", 12))), unsupported);
}

TEST(TarIndex, RefusesArchivesThatWereJoined) {
  const std::string one = TarBuilder().add("one.jpg", "1").finish();
  const std::string two = TarBuilder().add("two.jpg", "2").finish();
  for (const size_t padding : {size_t{0}, size_t{512}, size_t{1} << 17}) {
    EXPECT_ERROR(index_bytes(one + std::string(padding, '\0') + two), unsupported) << padding;
    EXPECT_NO_THROW(index_bytes(one + std::string(padding, '\0')));
  }
  EXPECT_NO_THROW(index_bytes(one + std::string(700, 'x')));
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
  EXPECT_NO_THROW(index_bytes(with_old));
  EXPECT_ERROR(index_bytes(with_old + std::string(512, '\0')), unsupported);
  // A small archive that fills the record as if by chance is one.
  const std::string small = TarBuilder().add("4.jpg", "4").finish();
  ASSERT_GE(kRecord - bytes.size(), small.size());
  const std::string joined = bytes + small;
  EXPECT_ERROR(index_bytes(joined + std::string(kRecord - joined.size(), '\0')), unsupported);
}

TEST(TarIndex, SaysHowToMendWhatIsWhole) {
  const TarBuilder builder = TarBuilder().add("1.jpg", "1");
  EXPECT_ERROR(index_bytes(builder.finish().substr(0, builder.size())), corrupt);
  EXPECT_ERROR(index_bytes(TarBuilder().add("a.jpg", "", '1', "b.jpg").finish()), unsupported);
}

TEST(TarIndex, SaysWhatAFileIsThatIsNoTar) {
  const std::string rest(5000, '\1');
  EXPECT_ERROR(index_bytes("\x1f\x8b\x08" + rest), unsupported);
  EXPECT_ERROR(index_bytes("\x28\xb5\x2f\xfd" + rest), unsupported);
  EXPECT_ERROR(index_bytes("PK\x03\x04" + rest), unsupported);
  EXPECT_ERROR(index_bytes("<!DOCTYPE html><html>" + rest), unsupported);
  EXPECT_ERROR(index_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:" + rest),
               unsupported);
  EXPECT_ERROR(index_bytes("PK\x03\x04 and few bytes"), unsupported);
  // A name is not what the file is.
  EXPECT_NO_THROW(index_bytes(TarBuilder().add("GIF89a.gif", "1").finish()));
  EXPECT_NO_THROW(index_bytes(TarBuilder().add("BZh91AY&SY", "1").finish()));
}

TEST(InputFile, NoticesThatItIsWrittenTo) {
  const TempDir dir;
  write_file(dir / "a.tar", "0123456789");
  const InputFile file(dir / "a.tar");
  std::array<std::byte, 4> bytes{};
  EXPECT_NO_THROW(file.read_at(2, bytes));
  std::filesystem::last_write_time(
      dir / "a.tar", std::filesystem::last_write_time(dir / "a.tar") + std::chrono::seconds(1));
  EXPECT_ERROR(file.read_at(2, bytes), not_found);
}

TEST(TarIndex, NoticesEveryCut) {
  const TarBuilder builder = TarBuilder()
                                 .add("one.jpg", std::string(700, '1'))
                                 .add_pax("path", "two.jpg", "short", std::string(5000, '2'))
                                 .add("three.jpg", "");
  const std::string whole = builder.finish();
  EXPECT_NO_THROW(index_bytes(whole));
  for (size_t length = 0; length < builder.size() + 512; length += 64) {
    EXPECT_ERROR_CODE(index_bytes(whole.substr(0, length)), corrupt) << "cut to " << length;
  }
}

TEST(TarIndex, RefusesWhatIsNoTar) {
  EXPECT_ERROR(index_bytes(std::string(5000, 'x')), corrupt);
  EXPECT_ERROR(index_bytes("\x1f\x8b\x08" + std::string(5000, '\0')), unsupported);
}

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
  EXPECT_THAT(check_archives({dir / "b.tar", dir / "other.tar", dir / "a.tar"}, kSums),
              ElementsAre(HasSubstr("b.tar: the archive has the MD5 sum of"),
                          HasSubstr("other.tar: not checked"),
                          HasSubstr("a.tar: the archive has the MD5 sum of")));
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
