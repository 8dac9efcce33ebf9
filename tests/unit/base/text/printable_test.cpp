#include "base/printable.h"

#include <gtest/gtest.h>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

TEST(Printable, KeepsText) {
  for (const char* text : {"", "a b/c.JPEG", "Öl 漢字 \xf0\x9f\x90\x9f", "\\"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\nb\tc\x1b[2J\x7f\r"), "a\\nb\\tc\\x1b[2J\\x7f\\x0d");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // U+009B: terminals take it for ESC [
  EXPECT_TRUE(is_utf8("\xc2\x9b"));
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  // A lone byte of Latin-1, a continuation, cut sequences, overlong forms, a surrogate, beyond
  // U+10FFFF.
  for (const char* text :
       {"\xe9", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x90", "\xc0\xaf", "\xe0\x80\xaf",
        "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
    EXPECT_TRUE(is_utf8(printable(text)));
    EXPECT_EQ(printable(text).substr(0, 2), "\\x");
  }
  EXPECT_EQ(printable("caf\xe9.jpg"), "caf\\xe9.jpg");
}

TEST(Printable, MakesErrorsOneLine) {
  const Error error(ErrorCode::io, "member 'a\nb'", {.path = "/data/caf\xe9"});
  EXPECT_STREQ(error.what(), "/data/caf\\xe9: member 'a\\nb'");
  EXPECT_EQ(error.context().path, "/data/caf\xe9");
}

}  // namespace
}  // namespace ffkit
