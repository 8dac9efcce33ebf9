#include <sys/file.h>

#include <ffkit/converter/v1.h>
#include <ffkit/format/unfinished.h>
#include <ffkit/sources/transcode.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

// A split whose image and note have sizes on both sides of Python's frame size; records run on from
// `first`.
Dataset make_split(const fs::path& folder, const std::string& split, int64_t num_records,
                   DType label_dtype = DType::i64) {
  fs::create_directories(folder);
  const Schema schema{{{.name = "note", .type = FieldType::bytes},
                       {.name = "image", .type = FieldType::image},
                       {.name = "label", .type = FieldType::scalar, .dtype = label_dtype}}};
  DatasetWriter writer(folder / split,
                       {.split = split, .schema = schema, .classes = {"cat", "dog", "newt"}},
                       {.shard_bytes = 1 << 20});
  RecordBuilder builder(schema);
  for (int64_t i = 0; i < num_records; ++i) {
    const std::vector<std::byte> image(static_cast<size_t>(60'000 + 3000 * (i % 5)),
                                       static_cast<std::byte>(i));
    const std::string note = fmt::format("note {}", i);
    builder.set_bytes(0, std::as_bytes(std::span(note)));
    builder.set_bytes(1, image);
    if (label_dtype == DType::i64) builder.set_scalar<int64_t>(2, i % 3);
    if (label_dtype == DType::u8) builder.set_scalar<uint8_t>(2, static_cast<uint8_t>(i % 3));
    writer.append(testing::encoded(builder));
  }
  writer.finish();
  return Dataset::open(folder, split);
}

TEST(WriteV1, LocksTheDataSetItReads) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 3);
  const auto move_away = [&] {
    merge_datasets(dir / "moved", {dir / "src"}, {.transfer = ShardTransfer::move});
  };
  int num_tries = 0;
  const auto try_to_move = [&](const ConvertProgress&) {
    ++num_tries;
    EXPECT_ERROR(move_away(), invalid_argument);
  };
  write_v1({train}, dir / "v1", {.progress = try_to_move});
  EXPECT_GT(num_tries, 0);
  move_away();
}

TEST(WriteV1, RefusesADataSetThatIsBeingMoved) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 3);
  const int mover = ::open((dir / "src").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(mover, LOCK_EX | LOCK_NB), 0);
  EXPECT_ERROR(write_v1({train}, dir / "v1", {}), invalid_argument);
  EXPECT_FALSE(fs::exists(dir / "v1"));
  ::close(mover);
}

TEST(WriteV1, WritesImagesAndLabelsAsImageNetsPayload) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 40);
  const Dataset val = make_split(dir / "src", "val", 5);
  ASSERT_GT(train.num_shards(), 1);
  const ConvertEstimate estimate = estimate_v1({train, val}, {});
  EXPECT_FALSE(fs::exists(dir / "v1"));
  std::vector<std::string> notes;
  const ConvertSummary summary = write_v1(
      {train, val}, dir / "v1", {.note = [&](const std::string& note) { notes.push_back(note); }});
  EXPECT_EQ(summary.num_records(), 45);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(estimate.splits[i].num_samples, summary.splits[i].num_records);
    EXPECT_EQ(estimate.splits[i].num_shards, summary.splits[i].num_shards);
    EXPECT_EQ(estimate.splits[i].file_bytes, summary.splits[i].file_bytes);  // all were tried
  }
  EXPECT_THAT(notes, ElementsAre("train: FFRecord v1 has no fields, so these are left out: note",
                                 "val: FFRecord v1 has no fields, so these are left out: note"));
  EXPECT_FALSE(fs::exists(dir / "v1" / kUnfinishedMarker));
  EXPECT_THAT(list_splits(dir / "v1"), ElementsAre("train", "val"));
  const Dataset v1 = Dataset::open(dir / "v1", "train");
  EXPECT_EQ(v1.format_version(), 1);
  EXPECT_TRUE(v1.warnings().empty());
  EXPECT_EQ(v1.num_shards(), train.num_shards());
  EXPECT_THAT(v1.manifest().classes, ElementsAre("cat", "dog", "newt"));
  ASSERT_EQ(v1.num_records(), 40);
  const std::vector<int64_t> labels = v1.int_column("label");
  std::vector<std::byte> a;
  std::vector<std::byte> b;
  for (int64_t i = 0; i < 40; ++i) {
    v1.read(i, a);
    train.read(i, b);
    EXPECT_TRUE(std::ranges::equal(RecordView(v1.schema(), a).bytes(0),
                                   RecordView(train.schema(), b).bytes(1)))
        << i;
    EXPECT_EQ(RecordView(v1.schema(), a).scalar<int64_t>(1), i % 3);
    EXPECT_EQ(labels[static_cast<size_t>(i)], i % 3);
  }
}

TEST(WriteV1, TakesLabelsOfAnyIntegerType) {
  const TempDir dir;
  write_v1({make_split(dir / "src", "train", 4, DType::u8)}, dir / "v1", {});
  EXPECT_THAT(Dataset::open(dir / "v1", "train").int_column("label"), ElementsAre(0, 1, 2, 0));
}

TEST(WriteV1, WritesTheBytesOfOneFieldOnRequest) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 40);
  write_v1({train}, dir / "v1",
           {.content = V1Content::raw, .field = "note", .shard_bytes = 700'000});
  EXPECT_FALSE(fs::exists(dir / "v1/meta.pkl"));
  const Dataset v1 = Dataset::open(dir / "v1", "train");
  // Records of 66 kB on average: the eleventh exceeds the size.
  EXPECT_EQ(v1.num_shards(), 4);
  ASSERT_EQ(v1.num_records(), 40);
  std::vector<std::byte> record;
  v1.read(39, record);
  const auto data = RecordView(v1.schema(), record).bytes(0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()), "note 39");
  // The default is the first field of bytes or images.
  write_v1({train}, dir / "again", {.content = V1Content::raw, .shard_bytes = 700'000});
  EXPECT_EQ(read_file(dir / "again/train.ffr/PART_00003.ffr"),
            read_file(dir / "v1/train.ffr/PART_00003.ffr"));
}

TEST(WriteV1, WritesASubset) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 40);
  write_v1({train.subset({39, 2, 2})}, dir / "v1", {});
  const Dataset v1 = Dataset::open(dir / "v1", "train");
  EXPECT_EQ(v1.num_shards(), 1);
  EXPECT_THAT(v1.int_column("label"), ElementsAre(0, 2, 2));
}

TEST(WriteV1, RefusesWhatV1CannotHold) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 3);
  EXPECT_ERROR(write_v1({train}, dir / "v1", {.content = V1Content::imagenet, .field = "label"}),
               invalid_argument);
  EXPECT_ERROR(write_v1({train}, dir / "v1", {.content = V1Content::raw, .field = "none"}),
               not_found, .subject = field);
  EXPECT_ERROR(write_v1({train, train}, dir / "v1", {}), invalid_argument);
  EXPECT_ERROR(write_v1({train}, dir / "src/train/v1", {}), invalid_argument);
  EXPECT_ERROR(write_v1({train}, dir / "src", {}), invalid_argument);
  EXPECT_ERROR(from_name<V1Content>("python"), invalid_argument);
  EXPECT_FALSE(fs::exists(dir / "v1"));

  // A null is found on the way; what was written goes again.
  DatasetWriter writer(dir / "nulls", {.split = "train", .schema = train.schema()});
  RecordBuilder builder(train.schema());
  std::vector<std::byte> record = testing::encoded(builder);
  writer.append(record);
  writer.finish();
  EXPECT_ERROR(write_v1({Dataset::open(dir / "nulls")}, dir / "v1", {}), invalid_argument,
               .record = 0);
  EXPECT_FALSE(fs::exists(dir / "v1"));
}

TEST(WriteV1, LeavesNothingWhenCancelledAndStartsOverAfterAKill) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 40);
  std::atomic<bool> cancel{false};
  bool was_refused = false;
  // Several parts, of which the first is complete when the second is begun.
  V1Options options{.shard_bytes = 1'000'000, .cancel = &cancel, .command = "the command"};
  fs::create_directory_symlink(dir / "v1/train.ffr.unfinished", dir / "alias");
  options.progress = [&](const ConvertProgress& progress) {
    if (progress.num_done == 0) return;
    ASSERT_TRUE(fs::exists(dir / "v1/train.ffr.unfinished/PART_00000.ffr"));
    EXPECT_ERROR(Dataset::open(dir / "v1", "train"), invalid_argument);
    for (const char* way : {"v1/train.ffr", "v1/train.ffr.unfinished", "v1/train.ffr.unfinished/",
                            "alias", "v1/train.ffr.unfinished/PART_00000.ffr"}) {
      EXPECT_ERROR(Dataset::open(dir / way), invalid_argument);
    }
    const fs::path before = fs::current_path();
    fs::current_path(dir / "v1/train.ffr.unfinished");
    EXPECT_ERROR(Dataset::open("."), invalid_argument);
    EXPECT_ERROR(Dataset::open("PART_00000.ffr"), invalid_argument);
    fs::current_path(before);
    was_refused = true;
    cancel = true;
  };
  EXPECT_ERROR(write_v1({train}, dir / "v1", options), cancelled);
  EXPECT_TRUE(was_refused);
  EXPECT_FALSE(fs::exists(dir / "v1"));

  // As a kill leaves it.
  testing::write_file(dir / "v1" / kUnfinishedMarker, to_text({.kind = "v1"}));
  testing::write_file(dir / "v1/meta.pkl", "old");
  testing::write_file(dir / "v1/val.ffr/PART_00000.ffr", "old");
  testing::write_file(dir / "v1/train.ffr.unfinished/PART_00000.ffr", "old");
  testing::write_file(dir / "v1/train.ffr.unfinished/PART_00001.ffr.tmp", "half");
  write_v1({train}, dir / "v1", {.shard_bytes = 1 << 30});
  EXPECT_EQ(Dataset::open(dir / "v1", "train").num_records(), 40);
  EXPECT_THAT(list_splits(dir / "v1"), ElementsAre("train"));
  EXPECT_FALSE(fs::exists(dir / "v1/train.ffr.unfinished"));
}

TEST(OpenDatasets, TakesRecordsOverAsTheyAre) {
  const TempDir dir;
  const Dataset train = make_split(dir / "src", "train", 40);
  make_split(dir / "src", "val", 5);
  const auto source = open_datasets(open_splits(dir / "src"));
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_FALSE(source->splits()[1].is_training);
  convert(*source, dir / "out", {.order = Order::sequential, .zstd_level = 3});
  const Dataset again = Dataset::open(dir / "out", "train");
  EXPECT_EQ(again.manifest().classes, train.manifest().classes);
  EXPECT_EQ(again.locate(0).record.codec, Codec::zstd);
  std::vector<std::byte> a;
  std::vector<std::byte> b;
  for (int64_t i = 0; i < 40; ++i) {
    train.read(i, a);
    again.read(i, b);
    EXPECT_EQ(a, b) << i;
  }
}

TEST(OpenDatasets, RefusesSplitsThatDoNotGoTogether) {
  const TempDir dir;
  const Dataset train = make_split(dir / "a", "train", 3);
  EXPECT_ERROR(open_datasets({train, make_split(dir / "b", "val", 3, DType::u8)}),
               invalid_argument);
  EXPECT_ERROR(open_datasets({train, train}), invalid_argument);
  EXPECT_ERROR(open_splits(dir / "none"), not_found, .subject = dataset);
}

// FFRecord's own files: to version 2 and back gives the same bytes, when parts are cut the same.
class V1RoundTrip : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Originals, V1RoundTrip,
                         ::testing::Values("sizes.ffr", "parts/PART_00000.ffr",
                                           "parts/PART_00001.ffr", "parts/PART_00002.ffr",
                                           "imagenet-style/train.ffr/PART_00000.ffr",
                                           "imagenet-style/train.ffr/PART_00001.ffr"),
                         [](const auto& original) {
                           std::string name = original.param;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST_P(V1RoundTrip, GivesTheSameBytes) {
  FFKIT_REQUIRE_SHARED_DATA(data, "ffrecord-v1");
  const TempDir dir;
  const fs::path original = data / GetParam();
  convert(*open_datasets(open_splits(original)), dir / "v2",
          {.order = Order::sequential, .zstd_level = 1});
  const std::vector<Dataset> v2 = open_splits(dir / "v2");
  ASSERT_EQ(v2.size(), 1U);
  EXPECT_EQ(v2[0].format_version(), 2);
  write_v1(v2, dir / "v1", {});
  const std::string name = v2[0].manifest().split + ".ffr";
  EXPECT_TRUE(read_file(dir / "v1" / name / "PART_00000.ffr") == read_file(original));
}

TEST(V1DataSet, KeepsPartsClassesAndLabels) {
  FFKIT_REQUIRE_SHARED_DATA(data, "ffrecord-v1");
  const TempDir dir;
  // Version 1 to version 1 keeps the parts, so the files must be the original's.
  write_v1(open_splits(data / "imagenet-style"), dir / "copy", {});
  for (const char* part : {"PART_00000.ffr", "PART_00001.ffr"}) {
    EXPECT_TRUE(read_file(dir / "copy/train.ffr" / part) ==
                read_file(data / "imagenet-style/train.ffr" / part))
        << part;
  }
  write_v1(open_splits(data / "parts"), dir / "parts", {});
  for (const char* part : {"PART_00000.ffr", "PART_00001.ffr", "PART_00002.ffr"}) {
    EXPECT_TRUE(read_file(dir / "parts/parts.ffr" / part) == read_file(data / "parts" / part));
  }
  write_v1(open_splits(data / "empty.ffr"), dir / "empty", {});
  EXPECT_EQ(read_file(dir / "empty/empty.ffr/PART_00000.ffr"), read_file(data / "empty.ffr"));
  EXPECT_ERROR(open_datasets(open_splits(data / "empty.ffr")), not_found);

  convert(*open_datasets(open_splits(data / "imagenet-style")), dir / "v2",
          {.order = Order::sequential});
  const Dataset train = Dataset::open(dir / "v2", "train");
  EXPECT_THAT(train.manifest().classes, ElementsAre("zero", "one", "two"));
  EXPECT_THAT(train.int_column("label"), ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
  write_v1({train}, dir / "v1", {});
  const Dataset v1 = Dataset::open(dir / "v1", "train");
  EXPECT_THAT(v1.manifest().classes, ElementsAre("zero", "one", "two"));
  EXPECT_EQ(v1.int_column("label"), train.int_column("label"));
}

}  // namespace
}  // namespace ffkit
