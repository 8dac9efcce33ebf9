#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/format/dataset.h>
#include <ffkit/sources/jsonl.h>

#include "expect_error.h"
#include "fake_source.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using testing::FakeSource;
using testing::TempDir;

TEST(NamesThatAreNoUtf8, OfFoldersAreEscapedInManifests) {
  const TempDir dir;
  const fs::path odd = dir / "b\xff-d";
  fs::create_directories(odd / "src");
  std::ofstream(odd / "src/train.jsonl") << "{\"a\": 1}\n";
  convert(*open_jsonl(odd / "src"), odd / "set", {});
  const Manifest manifest = Dataset::open(odd / "set", "train").manifest();
  EXPECT_TRUE(manifest.source.at("path").ends_with("/b\\xff-d/src")) << manifest.source.at("path");
  merge_datasets(dir / "merged", {odd / "set"}, {});
  const Manifest merged = Dataset::open(dir / "merged", "train").manifest();
  EXPECT_TRUE(merged.source.at("path_1").ends_with("/b\\xff-d/set/train"));
}

class OddClasses : public FakeSource {
 public:
  OddClasses() : FakeSource(3) {}
  const std::vector<std::string>& class_names() const override { return names_; }

 private:
  std::vector<std::string> names_{"cat", "do\xffg"};
};

TEST(NamesThatAreNoUtf8, OfClassesAreRefusedBeforeAnythingIsWritten) {
  const TempDir dir;
  const OddClasses source;
  EXPECT_ERROR(convert(source, dir / "out", {}), invalid_argument);
  EXPECT_EQ(source.num_reads, 0);
  EXPECT_FALSE(fs::exists(dir / "out"));
}

}  // namespace
}  // namespace ffkit
