#include <gtest/gtest.h>

#include <fstream>

#include <ffkit/trainer/classification.h>

#include "run_options.h"
#include "temp_dir.h"
#include "text_file.h"

namespace ffkit {
namespace {

TEST(OptionsFile, HasALineForEachOptionUnderItsNameOnTheCommandLine) {
  TrainOptions o;
  o.data = "/data/a set";
  classification(o).crop_scale_min = 0.35;
  o.work_dir = "/runs/a";
  const std::string text = options_to_toml(o);
  EXPECT_NE(text.find("\ndata = \"/data/a set\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncrop-scale = [0.35,1.0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nadam-betas = [0.9,0.999]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncolor-jitter = [0.0,0.0,0.0,0.0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nlr-schedule = \"cosine\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nchannels-last = true\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('_'), std::string::npos) << text;
  EXPECT_EQ(text.find("\"\""), std::string::npos) << text;  // no empty texts
  EXPECT_EQ(text.find("work"), std::string::npos) << text;
}

TEST(OptionsFile, QuotesPathsSoThatTheyCanBeReadBack) {
  TrainOptions o;
  o.data = "/data/\"q\"";
  EXPECT_NE(options_to_toml(o).find("\ndata = '/data/\"q\"'\n"), std::string::npos);
  for (const char* path : {"/data/#1", "/data/\"it's\""}) {
    o.data = path;
    EXPECT_NE(options_to_toml(o).find("\n# data: give it by --data\n"), std::string::npos) << path;
  }
}

TEST(OptionsFile, ReplacesWhatWasThere) {
  const testing::TempDir temp;
  std::ofstream(temp / "config.toml") << "old";
  write_options_file(temp / "config.toml", TrainOptions{});
  EXPECT_EQ(testing::read_file(temp / "config.toml"), options_to_toml({}));
}

}  // namespace
}  // namespace ffkit
