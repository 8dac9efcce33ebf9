// Names from sources and manifests that become names of folders: nothing is written outside the
// destination.
#include <ffkit/converter/v1.h>
#include <ffkit/sources/coco.h>
#include <ffkit/sources/jsonl.h>
#include <ffkit/sources/transcode.h>

#include "converter/output/own_names.h"
#include "converter_prelude.h"

namespace ffkit {
namespace {

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
    writer.append(testing::encoded(builder));
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

// Which names are ffkit's own: what a conversion removes, and what another program may have there.
TEST(OwnNames, OfShards) {
  for (const char* name : {"shard-00012.ffr", "shard-000003-00012-0123456789abcdef.ffr"}) {
    EXPECT_TRUE(is_shard_name(name)) << name;
  }
  for (const char* name :
       {"shard-.ffr", "shard-00012.ffr.tmp", "shard-00012", "a-shard-00012.ffr", "shard-00012x.ffr",
        "shard-000003-00012.ffr", "shard-000003-00012-0123456789abcdeg.ffr", ""}) {
    EXPECT_FALSE(is_shard_name(name)) << name;
  }
}

TEST(OwnNames, HaveTheNumberOfAShard) {
  EXPECT_EQ(number_of_shard("shard-00012.ffr"), 12);
  EXPECT_EQ(number_of_shard("shard-00000.ffr"), 0);
  EXPECT_EQ(number_of_shard("shard-000003-00012-0123456789abcdef.ffr"), std::nullopt);  // a task's
  EXPECT_EQ(number_of_shard("shard-99999999999999999999.ffr"), std::nullopt);
  EXPECT_EQ(number_of_shard("manifest.json"), std::nullopt);
}

TEST(OwnNames, OfFilesThatAreNotFinished) {
  for (const char* name : {"shard-00012.report.tmp", "shard-00012.gather.tmp",
                           "shard-00012.group.tmp", "shard-00012.ffr.tmp", "gathered.tmp",
                           "manifest.json.tmp", "report.jsonl.tmp", "before.tmp", "after.tmp"}) {
    EXPECT_TRUE(is_temporary_name(name)) << name;
  }
  for (const char* name : {"shard-00012.tmp", "other.tmp", "shard-00012.ffr", "manifest.json"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
  }
}

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
