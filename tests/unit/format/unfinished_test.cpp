#include <gtest/gtest.h>

#include <ffkit/format/unfinished.h>

namespace ffkit {
namespace {

TEST(UnfinishedMarker, IsReadAsItIsWritten) {
  const UnfinishedMarker written{.kind = "merge", .plan = "p", .command = "cd / && ffconvert x"};
  const UnfinishedMarker read = parse_unfinished_marker(to_text(written));
  EXPECT_EQ(read.kind, "merge");
  EXPECT_EQ(read.plan, "p");
  EXPECT_EQ(read.command, "cd / && ffconvert x");
}

// The rest of it would be read as other members.
TEST(UnfinishedMarker, HasNoCommandOfSeveralLines) {
  for (const char* command : {"a\nplan q", "a\rb"}) {
    const UnfinishedMarker read =
        parse_unfinished_marker(to_text({.kind = "v1", .plan = "p", .command = command}));
    EXPECT_EQ(read.command, "");
    EXPECT_EQ(read.plan, "p");
  }
}

}  // namespace
}  // namespace ffkit
