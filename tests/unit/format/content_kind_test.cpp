#include "content_kind.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

using namespace std::string_literals;

ContentKind kind_of(std::string_view bytes) {
  return content_kind(std::as_bytes(std::span(bytes)));
}

TEST(ContentKind, TellsPicturesByTheirFirstBytes) {
  EXPECT_EQ(kind_of("\xFF\xD8\xFF\xE0"), ContentKind::jpeg);
  EXPECT_EQ(kind_of("\x89PNG\r\n\x1A\n"), ContentKind::png);
  EXPECT_EQ(kind_of("RIFF\x10\0\0\0WEBPVP8 "s), ContentKind::webp);
  EXPECT_EQ(kind_of("BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"s), ContentKind::bmp);
  EXPECT_EQ(kind_of("P5\n2 2\n255\n"), ContentKind::pnm);
  EXPECT_EQ(kind_of("GIF89a"), ContentKind::gif);
  EXPECT_EQ(kind_of("II*\0\x08\0\0\0"s), ContentKind::tiff);
  EXPECT_EQ(kind_of("MM\0*\0\0\0\x08"s), ContentKind::tiff);
  EXPECT_EQ(kind_of("\0\0\0\x20"
                    "ftypavif\0\0\0\0"s),
            ContentKind::avif);
  EXPECT_EQ(kind_of("\0\0\0\x1C"
                    "ftypmif1\0\0\0\0mif1avif"s),
            ContentKind::avif);
  EXPECT_EQ(kind_of("\0\0\0\x18"
                    "ftypheic\0\0\0\0mif1heic"s),
            ContentKind::heic);
  EXPECT_EQ(kind_of("\0\0\0\x20"
                    "ftypisom\0\0\x02\0"s),
            ContentKind::video);
  EXPECT_EQ(kind_of("\0\0\0\x0CjP  \r\n\x87\n"s), ContentKind::jpeg_2000);
  EXPECT_EQ(kind_of("\xFF\x4F\xFF\x51"), ContentKind::jpeg_2000);
}

TEST(ContentKind, KnowsAPngThatWasTransferredAsText) {
  EXPECT_EQ(kind_of("\x89PNG\n\x1A\n"), ContentKind::png_through_text);
  EXPECT_EQ(kind_of("\x89PNG\r\r\n\x1A\r\n"), ContentKind::png_through_text);
  EXPECT_EQ(kind_of("\xEF\xBF\xBDPNG\r\n"), ContentKind::png_through_text);
}

TEST(ContentKind, KnowsAJpegThatWasTransferredAsText) {
  EXPECT_EQ(kind_of("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\0\x10JFIF"s),
            ContentKind::jpeg_through_text);
  EXPECT_EQ(kind_of("\xC3\xBF\xC3\x98\xC3\xBF\xC3\xA0"), ContentKind::jpeg_through_text);
}

TEST(ContentKind, TellsWhatStandsInAFilesPlace) {
  EXPECT_EQ(kind_of("\0\5\x16\7"s), ContentKind::apple_double);
  EXPECT_EQ(kind_of("\0\0\0\x18"
                    "ftypcrx \0\0\0\0"s),
            ContentKind::camera_raw);
  EXPECT_EQ(kind_of("\n <!DOCTYPE html><html>"), ContentKind::html);
  EXPECT_EQ(kind_of("\xEF\xBB\xBF<HTML>"), ContentKind::html);
  EXPECT_EQ(kind_of("version https://git-lfs.github.com/spec/v1\noid sha256:"),
            ContentKind::git_lfs_pointer);
  EXPECT_EQ(kind_of("<?xml version=\"1.0\"?><annotation>"), ContentKind::xml);
  EXPECT_EQ(kind_of("<?xml version=\"1.0\"?>\n<svg xmlns="), ContentKind::svg);
}

TEST(ContentKind, TellsCompressedStreamsAndArchives) {
  for (const std::string& bytes : {"\x1F\x8B\x08\0"s, "\x28\xB5\x2F\xFD"s, "BZh91AY&SY"s,
                                   "\xFD\x37zXZ\0"s, "\x04\x22\x4D\x18"s}) {
    EXPECT_TRUE(is_compressed_stream(kind_of(bytes)));
  }
  EXPECT_EQ(kind_of("BZhang's notes, a text"), ContentKind::unknown);
  EXPECT_EQ(kind_of("PK\x03\x04"), ContentKind::zip);
  EXPECT_EQ(kind_of("PAR1"), ContentKind::parquet);
  EXPECT_EQ(kind_of(std::string(257, 'a') + "ustar"), ContentKind::tar);
  EXPECT_FALSE(is_compressed_stream(ContentKind::zip));
}

TEST(ContentKind, LeavesTextAlone) {
  EXPECT_EQ(kind_of(""), ContentKind::empty);
  for (const char* text : {"BM is the mark of a bitmap, and of this text", "P5", "P.S. later",
                           "{\"text\": \"<html>\"}", "four score WEBP and seven", "a", "GIF"}) {
    EXPECT_EQ(kind_of(text), ContentKind::unknown) << text;
  }
  EXPECT_EQ(kind_of("\xEF\xBB\xBFtext"), ContentKind::utf8_with_bom);
  EXPECT_EQ(kind_of("\xFF\xFEt\0"s), ContentKind::utf16);
  EXPECT_EQ(kind_of("\xFF\xFE\0\0"s), ContentKind::utf32);
}

TEST(ContentKind, HasANameForEachKind) {
  for (int i = 0; i <= static_cast<int>(ContentKind::utf32); ++i) {
    const auto kind = static_cast<ContentKind>(i);
    EXPECT_GT(std::string_view(content_name(kind)).size(), 3U);
    EXPECT_EQ(content_name(kind) == std::string_view(content_name(ContentKind::unknown)), i == 0);
  }
}

}  // namespace
}  // namespace ffkit
