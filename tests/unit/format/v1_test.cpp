// FFRecord v1: files of the original package, and what damage does to such files.
#include <nlohmann/json.hpp>

#include <ffkit/format/packed_folder.h>
#include <ffkit/format/record_unpacker.h>

#include "base/bytes/pickle.h"
#include "format_prelude.h"
#include "sha256.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

using testing::v1_bytes;

std::string sha256(std::span<const std::byte> bytes) {
  return testing::sha256_hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

nlohmann::json expected(const std::filesystem::path& root) {
  return nlohmann::json::parse(std::ifstream(root / "expected.json"));
}

std::vector<std::byte> text_to_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_v1(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> read_raw(const std::filesystem::path& path) {
  const ShardReader reader(path);
  std::vector<std::string> records;
  std::vector<std::byte> record;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    reader.read(i, record);
    const auto data = RecordView(reader.schema(), record).bytes(0);
    records.emplace_back(reinterpret_cast<const char*>(data.data()), data.size());
  }
  return records;
}

TEST(V1, TheLastRecordMayBeEmpty) {
  const TempDir dir;
  write_v1(dir / "a.ffr", v1_bytes({"one", ""}));
  EXPECT_THAT(read_raw(dir / "a.ffr"), ElementsAre("one", ""));
}

TEST(V1, ReadsTheFilesOfTheOriginal) {
  FFKIT_REQUIRE_SHARED_DATA(root, "ffrecord-v1");
  const auto all = expected(root);
  for (const char* name : {"sizes.ffr", "empty.ffr", "parts/PART_00000.ffr", "parts/PART_00001.ffr",
                           "parts/PART_00002.ffr"}) {
    const auto records = read_raw(root / name);
    ASSERT_EQ(records.size(), all[name].size()) << name;
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i].size(), all[name][i]["size"]);
      EXPECT_EQ(sha256(text_to_bytes(records[i])), all[name][i]["sha256"].get<std::string>())
          << name << " " << i;
    }
    EXPECT_TRUE(ShardReader(root / name).verify().empty());
  }
}

TEST(V1, AFolderAndAListAreOneDataset) {
  FFKIT_REQUIRE_SHARED_DATA(root, "ffrecord-v1");
  const Dataset folder = Dataset::open(root / "parts");
  EXPECT_EQ(folder.format_version(), 1);
  EXPECT_EQ(folder.num_records(), 12);
  EXPECT_EQ(folder.num_shards(), 3);
  EXPECT_THAT(folder.warnings(), ElementsAre());
  const Dataset list = Dataset::open_files({root / "parts/PART_00002.ffr", root / "sizes.ffr"});
  EXPECT_EQ(list.num_records(), 14);
  const auto all = expected(root);
  std::vector<std::byte> record;
  list.read(4, record);  // of no bytes
  EXPECT_EQ(RecordView(list.schema(), record).bytes(0).size(), 0U);
  folder.read(11, record);
  EXPECT_EQ(sha256(RecordView(folder.schema(), record).bytes(0)),
            all["parts/PART_00002.ffr"][3]["sha256"].get<std::string>());
}

TEST(V1, ImageNetsPicklesBecomeImageAndLabel) {
  FFKIT_REQUIRE_SHARED_DATA(root, "ffrecord-v1");
  const auto records = expected(root)["imagenet-style/train.ffr"];
  const Dataset train = Dataset::open(root / "imagenet-style", "train");
  EXPECT_THAT(list_splits(root / "imagenet-style"), ElementsAre("train"));
  EXPECT_THAT(train.manifest().classes, ElementsAre("zero", "one", "two"));
  EXPECT_EQ(train.manifest().split, "train");
  ASSERT_EQ(train.num_records(), 8);
  EXPECT_THAT(train.int_column("label"), ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
  EXPECT_THAT(train.where(parse_filter("label == 2")).int_column("label"), ElementsAre(2, 2));
  // Without meta.pkl the labels are read from the records.
  EXPECT_THAT(ShardReader(root / "imagenet-style/train.ffr/PART_00001.ffr").int_column("label"),
              ElementsAre(1, 2, 0, 1));
  std::vector<std::byte> record;
  for (int64_t i = 0; i < 8; ++i) {
    train.read(i, record);
    const RecordView view(train.schema(), record);
    const auto& expect = records[static_cast<size_t>(i)];
    EXPECT_EQ(sha256(view.bytes(0)), expect["jpeg_sha256"].get<std::string>());
    EXPECT_EQ(view.scalar<int64_t>(1), expect["label"]);
    // Written again, it is the original's record to the byte.
    std::vector<std::byte> pickle;
    pickle_bytes_and_label(view.bytes(0), view.scalar<int64_t>(1), pickle);
    EXPECT_EQ(sha256(pickle), expect["record_sha256"].get<std::string>());
  }
}

TEST(V1, PackedFolderIsListedAndRead) {
  FFKIT_REQUIRE_SHARED_DATA(root, "ffrecord-v1");
  const auto tree = expected(root)["packed_folder.ffr"]["tree"];
  EXPECT_TRUE(PackedFolder::is_packed_folder(root / "packed_folder.ffr"));
  EXPECT_FALSE(PackedFolder::is_packed_folder(root / "sizes.ffr"));
  EXPECT_FALSE(PackedFolder::is_packed_folder(root / "empty.ffr"));
  EXPECT_FALSE(PackedFolder::is_packed_folder(root / "expected.json"));
  const PackedFolder folder(root / "packed_folder.ffr");
  EXPECT_THAT(folder.folders(), ElementsAre("a", "a/b"));
  ASSERT_EQ(folder.files().size(), tree.size());
  std::vector<std::byte> content;
  for (size_t i = 0; i < folder.files().size(); ++i) {
    const PackedFolder::File& file = folder.files()[i];
    ASSERT_TRUE(tree.contains(file.path)) << file.path;
    EXPECT_EQ(file.num_bytes, tree[file.path]["size"]);
    folder.read(i, content);
    EXPECT_EQ(sha256(content), tree[file.path]["sha256"].get<std::string>()) << file.path;
    EXPECT_EQ(folder.find(file.path), i);
  }
  EXPECT_ERROR(folder.find("a/none"), not_found);
  EXPECT_ERROR(PackedFolder(root / "sizes.ffr"), corrupt);
}

// Pickled trees with what must not get through.
std::string tree_record(const std::string& opcodes) {
  return "piouhjgbr\x80\x04" + opcodes + ".";
}
std::string name(const std::string& text) {
  return std::string("\x8c") + static_cast<char>(text.size()) + text;
}

TEST(V1, HostileTreesAreRefused) {
  const TempDir dir;
  const auto refuse = [&](const std::string& opcodes, ErrorCode code) {
    write_v1(dir / "p.ffr", v1_bytes({"content", "other", tree_record(opcodes)}));
    EXPECT_TRUE(PackedFolder::is_packed_folder(dir / "p.ffr"));
    EXPECT_TRUE(testing::throws_error([&] { PackedFolder folder(dir / "p.ffr"); }, code));
  };
  using namespace std::string_literals;
  refuse("}" + name("..") + "K\0s"s, ErrorCode::corrupt);
  refuse("}" + name("/etc/passwd") + "K\0s"s, ErrorCode::corrupt);
  refuse("}" + name("") + "K\0s"s, ErrorCode::corrupt);
  refuse("}" + name("a") + "K\x02s", ErrorCode::corrupt);
  refuse("}" + name("a") + "J\xff\xff\xff\xffs", ErrorCode::corrupt);
  refuse("}" + name("a") + "K\0s"s + name("b") + "K\0s"s, ErrorCode::corrupt);
  refuse("}" + name("a") + name("x") + "s", ErrorCode::corrupt);
  refuse("K\x01", ErrorCode::corrupt);
  refuse("}\x94" + name("a") + "h\0s"s, ErrorCode::corrupt);  // holds itself
  refuse("}" + name("a") + "}\x94s"s + name("b") + "h\0s"s, ErrorCode::corrupt);
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "}" + name(std::string(255, 'a'));
  refuse(deep + "K\0"s + std::string(20, 's'), ErrorCode::corrupt);
  refuse("cposix\nsystem\n" + name("id") + "\x85R", ErrorCode::unsupported);
}

TEST(V1, OldFilesWithoutChecksumsAreReadWithAWarning) {
  const TempDir dir;
  write_v1(dir / "old.ffr", v1_bytes({"one", "", "three"}, false));
  EXPECT_THAT(read_raw(dir / "old.ffr"), ElementsAre("one", "", "three"));
  EXPECT_EQ(ShardReader(dir / "old.ffr").locate(0).checksum_type, Checksum::none);
  const Dataset dataset = Dataset::open(dir / "old.ffr");
  ASSERT_EQ(dataset.warnings().size(), 1U);
  EXPECT_THAT(dataset.warnings()[0], HasSubstr("old.ffr has no checksum of its header"));
}

TEST(V1, MixedPayloadsAreRawAndVersionsDoNotMix) {
  const TempDir dir;
  std::vector<std::byte> pickle;
  pickle_bytes_and_label(text_to_bytes("jpeg"), 3, pickle);
  const std::string pickled(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  write_v1(dir / "a.ffr", v1_bytes({pickled, pickled}));
  write_v1(dir / "b.ffr", v1_bytes({"raw"}));
  write_v1(dir / "c.ffr", v1_bytes({pickled, "raw"}));
  EXPECT_EQ(Dataset::open_files({dir / "a.ffr"}).schema().fields.size(), 2U);
  const Dataset mixed = Dataset::open_files({dir / "a.ffr", dir / "b.ffr"});
  EXPECT_EQ(mixed.schema().fields[0].name, "data");
  std::vector<std::byte> record;
  mixed.read(1, record);
  EXPECT_EQ(RecordView(mixed.schema(), record).bytes(0).size(), pickled.size());
  const auto problems = ShardReader(dir / "c.ffr").verify();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].record, 1);
  EXPECT_THAT(problems[0].message, HasSubstr("c.ffr: record 1: offset "));
}

TEST(V1, WrongTargetsOfMetaPklAreNotBelieved) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "val.ffr");
  std::vector<std::string> records;
  for (int64_t label : {2, 0, 1}) {
    std::vector<std::byte> pickle;
    pickle_bytes_and_label(text_to_bytes("jpeg"), label, pickle);
    records.emplace_back(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  }
  write_v1(dir / "val.ffr/PART_00000.ffr", v1_bytes(records));
  // Of another split.
  const auto meta = pickle_class_list({"a", "b", "c"}, std::vector<int64_t>{0, 1, 2});
  write_v1(dir / "meta.pkl", std::string(reinterpret_cast<const char*>(meta.data()), meta.size()));
  const Dataset val = Dataset::open(dir.path(), "val");
  EXPECT_THAT(val.int_column("label"), ElementsAre(2, 0, 1));
  EXPECT_THAT(val.manifest().classes, ElementsAre("a", "b", "c"));
  write_v1(dir / "meta.pkl", "cposix\nsystem\n.");
  EXPECT_ERROR(Dataset::open(dir.path(), "val"), unsupported);
}

}  // namespace
}  // namespace ffkit
