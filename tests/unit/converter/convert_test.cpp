#include <nlohmann/json.hpp>

#include <ffkit/sources/demo.h>
#include <ffkit/sources/jsonl.h>
#include <ffkit/sources/registry.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

void write_pictures(const fs::path& folder) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = "c" + std::to_string(i % 4) + "/" + std::to_string(i) + ".jpg";
    write_file(folder / "train" / name, testing::jpeg_picture(i));
    if (i % 5 == 0) write_file(folder / "val" / name, testing::jpeg_picture(100 + i));
  }
}

TEST(Convert, WritesWhatTheReaderReads) {
  const TempDir dir;
  write_pictures(dir / "src");
  const auto summary = convert(*open_image_folder(dir / "src"), dir / "out", {.num_threads = 2});
  EXPECT_EQ(summary.num_records(), 48);
  EXPECT_EQ(summary.num_classes, 4);
  EXPECT_EQ(summary.num_skipped(), 0);
  EXPECT_FALSE(fs::exists(dir / "out/report.jsonl"));
  EXPECT_THAT(list_splits(dir / "out"), ElementsAre("train", "val"));
  for (const char* split : {"train", "val"}) {
    const Dataset dataset = Dataset::open(dir / "out", split);
    const auto labels = dataset.int_column("label");
    const auto ids = dataset.string_column("id");
    std::vector<std::byte> record;
    for (int64_t i = 0; i < dataset.num_records(); ++i) {
      dataset.read(i, record);
      const auto bytes = RecordView(dataset.schema(), record).bytes(0);
      const std::string& id = ids[static_cast<size_t>(i)];
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                testing::read_file(dir / "src" / split / id));
      EXPECT_EQ(dataset.manifest().classes[static_cast<size_t>(labels[static_cast<size_t>(i)])],
                fs::path(id).parent_path());
    }
  }
  const Manifest manifest = Dataset::open(dir / "out", "train").manifest();
  EXPECT_EQ(manifest.source.at("kind"), "folder");
  EXPECT_EQ(manifest.options.at("order"), "shuffle");
  EXPECT_THAT(manifest.created_by, HasSubstr("ffconvert "));
  EXPECT_EQ(summary.splits[0].fingerprint, manifest.fingerprint());
}

TEST(Convert, ReportsSkippedSamples) {
  const TempDir dir;
  write_pictures(dir / "src");
  write_file(dir / "src/train/c1/bad \"quoted\" \xff.jpg", "no picture");
  const auto source = open_image_folder(dir / "src");
  EXPECT_ERROR(convert(*source, dir / "out", {}), unsupported, .subject = sample);
  EXPECT_FALSE(fs::exists(dir / "out"));

  const auto summary = convert(*source, dir / "out", {.bad_samples = BadSamples::skip});
  EXPECT_EQ(summary.num_skipped(), 1);
  EXPECT_EQ(summary.num_records(), 48);
  const auto line = nlohmann::json::parse(testing::read_file(dir / "out/report.jsonl"));
  EXPECT_EQ(line.at("split"), "train");
  EXPECT_THAT(line.at("source").get<std::string>(), HasSubstr("train/c1/bad \"quoted\""));
  EXPECT_NE(line.at("reason"), "");
}

TEST(Convert, FailsWhenNothingCanBeRead) {
  const TempDir dir;
  write_file(dir / "src/train/c/1.jpg", "text");
  EXPECT_ERROR(
      convert(*open_image_folder(dir / "src"), dir / "out", {.bad_samples = BadSamples::skip}),
      corrupt, .subject = source);
  EXPECT_FALSE(fs::exists(dir / "out"));
}

TEST(Convert, CallsRecordsWhatTheyAre) {
  const TempDir dir;
  write_file(dir / "a.jsonl", "{\"number\": 1}\n");
  EXPECT_STREQ(record_noun(*make_demo({}, {})), "pictures");
  EXPECT_STREQ(record_noun(*make_demo_pose({}, {})),
               "records");  // a picture may show several persons
  EXPECT_STREQ(record_noun(*open_jsonl(dir / "a.jsonl")), "records");
}

// What a table says is what help, Python and pages show; this is what they rely on.
TEST(Registry, DescribesEveryOption) {
  for (const SourceKind& kind : source_kinds()) {
    KindConversion conversion(kind);
    EXPECT_NO_THROW(conversion.table().check()) << kind.name;
    std::set<std::string> names;
    for (const Option& option : conversion.table().options()) {
      EXPECT_TRUE(names.insert(option.key()).second) << kind.name << ": " << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.help.ends_with('.')) << option.name;
    }
  }
}

TEST(Convert, RefusesADestinationInTheSource) {
  const TempDir dir;
  write_pictures(dir / "src");
  const auto source = open_image_folder(dir / "src");
  for (const char* inside : {"src/out", "src/train/out", "src", "src/../src/x"}) {
    EXPECT_ERROR(convert(*source, dir / inside, {}), invalid_argument);
  }
  fs::create_directory_symlink(dir / "src", dir / "alias");
  EXPECT_ERROR(convert(*source, dir / "alias/out", {}), invalid_argument);
  convert(*source, dir / "src2", {});  // beside it, though the name begins alike
}

TEST(Convert, LeavesNothingWhenCancelled) {
  const TempDir dir;
  write_pictures(dir / "src");
  const std::atomic<bool> cancel{true};
  EXPECT_ERROR(convert(*open_image_folder(dir / "src"), dir / "deep/out", {.cancel = &cancel}),
               cancelled);
  EXPECT_FALSE(fs::exists(dir / "deep"));
}

TEST(Convert, IsRefusedByReadersUntilItIsDone) {
  const TempDir dir;
  write_pictures(dir / "src");
  bool was_refused = false;
  ConvertOptions options;
  options.progress = [&](const ConvertProgress& progress) {
    if (progress.split != "val" || was_refused) return;
    EXPECT_TRUE(fs::exists(dir / "out/train/manifest.json"));  // that split is complete
    EXPECT_ERROR(Dataset::open(dir / "out", "train"), invalid_argument);
    was_refused = true;
  };
  convert(*open_image_folder(dir / "src"), dir / "out", options);
  EXPECT_TRUE(was_refused);
  EXPECT_EQ(Dataset::open(dir / "out", "train").num_records(), 40);
}

TEST(Registry, OpensEachKindByName) {
  const TempDir dir;
  write_pictures(dir / "src");
  const auto open = [&](const char* kind, const fs::path& path) {
    return KindConversion(source_kind(kind)).open(path, dir / "out", false);
  };
  EXPECT_EQ(open("folder", dir / "src")->splits().size(), 2U);
  KindConversion conversion(source_kind("demo"));
  conversion.table().find("images")->give(int64_t{7});
  conversion.table().find("val-images")->give(int64_t{0});
  const auto demo = conversion.open({}, dir / "out", false);
  ASSERT_EQ(demo->splits().size(), 1U);
  EXPECT_EQ(demo->splits()[0].num_samples, 7);
  EXPECT_EQ(demo->classes().size(), 10U);
  EXPECT_ERROR(open("imagenet", dir / "src/train"), not_found);
  EXPECT_ERROR(source_kind("cocoa"), not_found);
}

// What a source need not say.
class BareSource : public Source {
 public:
  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return image_classification_schema(); }
  std::string describe(size_t, int64_t index) const override { return std::to_string(index); }
  void read(size_t, int64_t, RecordBuilder&, SampleBuffers&) const override {}

 private:
  std::vector<SourceSplit> splits_ = {{.name = "train", .num_samples = 1}};
};

TEST(SourceDefaults, SayThatNothingIsKnown) {
  const BareSource source;
  EXPECT_EQ(source.sample_bytes(0, 7), 0);
  EXPECT_EQ(source.position(0, 7), 7);
  EXPECT_TRUE(source.archive(0).empty());
  EXPECT_TRUE(source.inputs(0).empty());
  EXPECT_TRUE(source.facts(0).empty());
  EXPECT_TRUE(source.options().empty());
  EXPECT_TRUE(source.roots().empty());
  EXPECT_TRUE(source.notes().empty());
  EXPECT_TRUE(source.classes().empty());
  EXPECT_TRUE(source.class_names().empty());
  EXPECT_FALSE(source.has_record_references());
  const SampleIdentity identity = source.identity(0, 7);
  EXPECT_EQ(identity.name, "7");
  EXPECT_EQ(identity.num_bytes, 0);
  EXPECT_EQ(identity.content, 0U);
  EXPECT_EQ(identity.modified, 0U);
}

}  // namespace
}  // namespace ffkit
