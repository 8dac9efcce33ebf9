#include <gtest/gtest.h>

#include "credentials/aws_profile.h"

namespace ffkit {
namespace {

TEST(IniFile, HasSectionsAndValues) {
  const IniFile file = parse_ini(
      "stray = 1\n# a comment\n; another\n[default]\naws_access_key_id=AKIA\r\n"
      "aws_secret_access_key = a/b+c= # not of it\nempty =\n\n"
      "[ profile  \"dev\" ]\ns3 =\n  addressing_style = path\n\tmax = 1#2\nregion = eu-central-1\n"
      "no value\n[broken\nx = 1");
  EXPECT_EQ(file.at("default").at("aws_access_key_id"), "AKIA");
  EXPECT_EQ(file.at("default").at("aws_secret_access_key"), "a/b+c=");
  EXPECT_EQ(file.at("default").at("empty"), "");
  EXPECT_EQ(file.at("profile dev").at("s3.addressing_style"), "path");
  EXPECT_EQ(file.at("profile dev").at("s3.max"), "1#2");
  EXPECT_EQ(file.at("profile dev").at("region"), "eu-central-1");
  EXPECT_EQ(file.at("broken").at("x"), "1");
  EXPECT_FALSE(file.contains("stray"));
}

TEST(IniFile, MayBeAnything) {
  EXPECT_TRUE(parse_ini("").empty());
  EXPECT_EQ(parse_ini("[").size(), 1U);
  EXPECT_EQ(parse_ini("[]\n=\n = x").at("").size(), 1U);
}

}  // namespace
}  // namespace ffkit
