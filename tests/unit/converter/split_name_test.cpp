// Names from sources and manifests that become names of folders: nothing is written outside the
// destination.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/sources/coco.h>
#include <ffkit/sources/transcode.h>

#include "expect_error.h"
#include "fake_source.h"
#include "pictures.h"
#include "tar_builder.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using testing::FakeSource;
using testing::jpeg_picture;
using testing::TempDir;
using testing::write_file;

class NamedSource : public FakeSource {
 public:
  explicit NamedSource(std::vector<std::string> names) : FakeSource(3) {
    for (std::string& name : names) {
      named_.push_back({.name = std::move(name), .num_samples = 3, .is_training = false});
    }
  }
  const std::vector<SourceSplit>& splits() const override { return named_; }

 private:
  std::vector<SourceSplit> named_;
};

TEST(SplitName, OfASourceDoesNotLeadOutOfTheDestination) {
  const TempDir dir;
  write_file(dir / "manifest.json", "mine");
  write_file(dir / "x.tmp", "mine");
  for (const char* name : {"..", "../up", "", "a/b", "/tmp/ffkit-up", "a\tb"}) {
    EXPECT_ERROR(convert(NamedSource({name}), dir / "out", {}), invalid_argument);
  }
  EXPECT_ERROR(convert(NamedSource({"a", "a"}), dir / "out", {}), invalid_argument);
  EXPECT_FALSE(fs::exists(dir / "out"));
  EXPECT_EQ(testing::read_file(dir / "manifest.json"), "mine");
  EXPECT_TRUE(fs::exists(dir / "x.tmp"));
}

TEST(SplitName, OfAnAnnotationFileIsChecked) {
  const TempDir dir;
  write_file(dir / "src/images/1.jpg", jpeg_picture(1));
  write_file(dir / "src/annotations/instances_...json",
             R"({"images": [{"id": 1, "file_name": "1.jpg", "width": 16, "height": 16}]})");
  EXPECT_ERROR(open_coco(dir / "src"), invalid_argument);
}

TEST(SplitName, OfFFRecordV1IsChecked) {
  const TempDir dir;
  const Schema schema{{{.name = "data", .type = FieldType::bytes}}};
  const auto write = [&](const std::string& split) {
    fs::create_directory(dir / "set");
    DatasetWriter writer(dir / "set/one", {.split = split, .schema = schema}, {});
    RecordBuilder builder(schema);
    builder.set_bytes(0, std::as_bytes(std::span("content")));
    std::vector<std::byte> record;
    builder.encode(record);
    writer.append(record);
    writer.finish();
  };
  for (const char* split : {"../x", "/tmp/x", ".."}) {
    write(split);
    EXPECT_ERROR(open_splits(dir / "set"), corrupt, .subject = dataset);
    fs::remove_all(dir / "set");
  }
  for (const char* split : {"", "a\nb", ".ffkit-unfinished"}) {
    write(split);
    EXPECT_ERROR(write_v1(open_splits(dir / "set"), dir / "v1", {}), invalid_argument);
    EXPECT_FALSE(fs::exists(dir / "v1"));
    fs::remove_all(dir / "set");
  }
  write("train");
  write_v1(open_splits(dir / "set"), dir / "v1", {});
  fs::rename(dir / "v1/train.ffr", dir / "v1/...ffr");
  EXPECT_ERROR(open_splits(dir / "v1"), unsupported);
  EXPECT_ERROR(convert(*open_datasets(open_splits(dir / "v1/...ffr")), dir / "out", {}),
               invalid_argument);
  EXPECT_FALSE(fs::exists(dir / "out"));
}

}  // namespace
}  // namespace ffkit
