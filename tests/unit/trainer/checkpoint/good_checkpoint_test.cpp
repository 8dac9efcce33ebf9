#include <gtest/gtest.h>

#include "run_checkpoints.h"
#include "temp_dir.h"
#include "text_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

TEST(GoodCheckpoint, IsOneWhoseWeightsGaveAFiniteLoss) {
  const testing::TempDir folder;
  const fs::path first = folder / "a", second = folder / "b";
  testing::write_file(first, "1");
  testing::write_file(second, "2");
  GoodCheckpoint good;
  good.written(first, 10);
  EXPECT_TRUE(good.path().empty());
  good.proven(9);  // the step before
  EXPECT_TRUE(good.path().empty());
  good.proven(10);
  EXPECT_EQ(good.path(), first);
  good.written(second, 20);
  EXPECT_EQ(good.path(), first);
  EXPECT_EQ(good.put_aside(), "; " + second.string() +
                                  ", whose weights give no number, is renamed to *.not-finite; the "
                                  "last good checkpoint is " +
                                  first.string());
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(folder / "b.not-finite"));
  EXPECT_TRUE(fs::exists(first));
}

TEST(GoodCheckpoint, IsAtOnceOneOfWeightsThatWereValidated) {
  GoodCheckpoint good;
  good.proven(10);
  good.written("a", 10);
  EXPECT_EQ(good.path(), "a");
  EXPECT_EQ(good.put_aside(), "; the last good checkpoint is a");
}

// The data, too, may be why the first step fails: what another run wrote is not renamed.
TEST(GoodCheckpoint, DoesNotRenameWhatTheRunGoesOnFrom) {
  const testing::TempDir folder;
  const fs::path first = folder / "a";
  testing::write_file(first, "1");
  GoodCheckpoint good;
  EXPECT_EQ(good.put_aside(), "");
  good.resumed(first, 10);
  EXPECT_NE(good.put_aside().find("it was the first step after " + first.string()),
            std::string::npos);
  EXPECT_TRUE(fs::exists(first));
  good.proven(10);
  EXPECT_EQ(good.put_aside(), "; the last good checkpoint is " + first.string());
}

}  // namespace
}  // namespace ffkit
