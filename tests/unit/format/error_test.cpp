#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

TEST(OptionNames, AreWrittenAsTheCallerKnowsThem) {
  const std::string text = fmt::format("give {} or {}, not {}", option_set("on_error", "skip"),
                                       option_on("fix_odd"), option_name("shard_size"));
  EXPECT_EQ(with_option_names(text, OptionStyle::field),
            "give on_error = skip or fix_odd = true, not shard_bytes");
  EXPECT_EQ(with_option_names(text, OptionStyle::command_line),
            "give --on-error skip or --fix-odd, not --shard-size");
  EXPECT_EQ(with_option_names(text, OptionStyle::python),
            "give on_error=\"skip\" or fix_odd=True, not shard_size");
  EXPECT_EQ(with_option_names(option_set("threads", "4"), OptionStyle::python), "threads=4");
}

TEST(OptionNames, LeaveOtherTextAlone) {
  for (const std::string text : {"", "a\x01", "\x01 b\x04", "\x01\x04", "a\x04z", "\x01x"}) {
    EXPECT_EQ(with_option_names(text, OptionStyle::python), text);
  }
}

TEST(Error, ShowsOptionsInEveryStyle) {
  const Error error(ErrorCode::io, "failed with " + option_on("resume"),
                    {.path = "/a", .errno_value = EFBIG, .remedy = "give " + option_name("part")});
  EXPECT_STREQ(error.what(), "/a: failed with resume = true: File too large (EFBIG); give part");
  EXPECT_EQ(error.text(OptionStyle::command_line),
            "/a: failed with --resume: File too large (EFBIG); give --part");
}

TEST(Error, KeepsWhatItKnowsWithOtherWords) {
  const Error error(ErrorCode::io, "failed", {.path = "/a", .record = 3, .errno_value = EFBIG});
  const Error other = error.with_message("cannot be written").with_remedy("free some space");
  EXPECT_EQ(other.code(), ErrorCode::io);
  EXPECT_EQ(other.context().errno_value, EFBIG);
  EXPECT_STREQ(other.what(),
               "/a: record 3: cannot be written: File too large (EFBIG); free some space");
}

TEST(Error, LearnsFromFurtherOutWhatItDoesNotKnow) {
  const Error error(ErrorCode::corrupt, "is no picture");
  const Error placed = error.within(
      {.path = "/a", .record = 2, .subject = ErrorSubject::sample, .remedy = "look at it"});
  EXPECT_STREQ(placed.what(), "/a: record 2: is no picture; look at it");
  EXPECT_EQ(placed.context().subject, ErrorSubject::sample);
  // What is known is not replaced.
  const Error again = placed.within({.path = "/a", .record = 9, .subject = ErrorSubject::shard});
  EXPECT_STREQ(again.what(), placed.what());
  EXPECT_EQ(again.context().subject, ErrorSubject::sample);
}

TEST(Error, KeepsItsOwnPathAndNamesTheOuterOne) {
  const Error error(ErrorCode::io, "cannot be read", {.path = "/in", .errno_value = EIO});
  const Error placed = error.within({.path = "/out", .record = 4});
  EXPECT_STREQ(placed.what(), "/out: record 4: /in: cannot be read: Input/output error (EIO)");
  EXPECT_EQ(placed.context().path, "/in");
  EXPECT_EQ(placed.context().record, -1);
  EXPECT_EQ(placed.context().errno_value, EIO);
}

}  // namespace
}  // namespace ffkit
