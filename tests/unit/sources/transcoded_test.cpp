#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_writer.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/sources/transcode.h>

#include "encode_for_test.h"
#include "sources_prelude.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::encode_jpeg_as;
using testing::make_picture;

using Bytes = std::vector<std::byte>;

enum Fields : size_t { kImage, kFrames, kNote, kNumber, kPoints };

Schema every_kind() {
  return {{{"image", FieldType::image},
           {"frames", FieldType::list, DType::u8, false, FieldType::image},
           {"note", FieldType::string, DType::u8, true},
           {"number", FieldType::scalar, DType::i64, true},
           {"points", FieldType::tensor, DType::f32}}};
}

Bytes jpeg_of(int number) {
  return encode_jpeg(make_picture(24 + number, 20, static_cast<uint32_t>(number)).view());
}

// A data set with one split of two shards, in which a picture and a number are null, lists have 0
// to 2 pictures and one picture is progressive.
class Transcoded : public ::testing::Test {
 protected:
  static constexpr int64_t kRecords = 6;

  static Manifest manifest() {
    return {.split = "train",
            .schema = every_kind(),
            .classes = {"cat", "dog"},
            .class_names = {"a cat", "a dog"},
            .source = {{"kind", "test"}, {"listing", "of another conversion"}, {"path", "/far"}},
            .options = {{"order", "shuffle"}, {"seed", "9"}, {"own", "yes"}},
            .created_by = "test"};
  }

  Transcoded() {
    const Schema schema = every_kind();
    fs::create_directory(dir_ / "data");
    fs::create_directory(dir_ / "data/train");
    Manifest written = manifest();
    const std::vector<float> points = {1, 2, 3};
    for (int64_t shard = 0; shard < 2; ++shard) {
      const std::string file = shard_file_name(shard);
      ShardWriter writer(dir_ / "data/train" / file, schema, {.uuid = shard_uuid(written, shard)});
      for (int64_t i = shard * 4; i < (shard == 0 ? 4 : kRecords); ++i) {
        const int number = static_cast<int>(i);
        const Bytes image = jpeg_of(number);
        const std::array<Bytes, 2> frames = {
            i == 5 ? encode_jpeg_as(make_picture(16, 16), {.progressive = true}) : jpeg_of(10),
            jpeg_of(20 + number)};
        std::vector<std::span<const std::byte>> items(frames.begin(), frames.begin() + i % 3);
        if (i == 2) items.clear();
        RecordBuilder builder(schema);
        if (i != 3) builder.set_bytes(kImage, image);
        builder.set_list(kFrames, items);
        const std::string note = "record " + std::to_string(i);
        builder.set_string(kNote, note);
        if (i != 1) builder.set_scalar<int64_t>(kNumber, i);
        builder.set_tensor(kPoints, {DType::f32, {3}, std::as_bytes(std::span(points))});
        Bytes record;
        builder.encode(record);
        writer.append(record);
      }
      written.shards.push_back({writer.finish(), file});
    }
    write_manifest(dir_ / "data/train/manifest.json", written);
  }

  ConvertSummary transcode(const std::string& from, const std::string& to, StoreAs store) const {
    return convert(*open_transcoded(open_splits(dir_ / from), {.store = store}), dir_ / to,
                   {.num_threads = 2, .order = Order::sequential});
  }
  Dataset open(const std::string& name) const { return Dataset::open(dir_ / name, "train"); }

  TempDir dir_;
};

TEST_F(Transcoded, ChangesPicturesAndListsOfPicturesAlone) {
  const ConvertSummary summary = transcode("data", "dct", StoreAs::dct);
  EXPECT_THAT(summary.without_dct, ElementsAre(Pair("progressive", 1)));
  EXPECT_EQ(summary.num_reported, 1);
  const Dataset before = open("data");
  const Dataset after = open("dct");
  ASSERT_EQ(after.num_records(), kRecords);
  Bytes old_bytes;
  Bytes new_bytes;
  for (int64_t i = 0; i < kRecords; ++i) {
    before.read(i, old_bytes);
    after.read(i, new_bytes);
    const RecordView old_record(before.schema(), old_bytes);
    const RecordView new_record(after.schema(), new_bytes);
    for (const size_t field : {kNote, kNumber, kPoints}) {
      EXPECT_EQ(old_record.is_null(field), new_record.is_null(field));
      EXPECT_TRUE(std::ranges::equal(old_record.raw(field), new_record.raw(field)));
    }
    ASSERT_EQ(old_record.is_null(kImage), new_record.is_null(kImage));
    if (i != 3) {
      EXPECT_TRUE(is_dct_picture(new_record.bytes(kImage)));
      EXPECT_EQ(decode_dct_to_jpeg(new_record.bytes(kImage)), jpeg_of(static_cast<int>(i)));
    }
    const ListView old_frames = old_record.list(kFrames);
    const ListView new_frames = new_record.list(kFrames);
    ASSERT_EQ(old_frames.size(), new_frames.size());
    for (size_t k = 0; k < old_frames.size(); ++k) {
      const bool is_kept = i == 5 && k == 0;
      EXPECT_EQ(is_dct_picture(new_frames.bytes(k)), !is_kept);
      const Bytes jpeg = is_kept ? Bytes(new_frames.bytes(k).begin(), new_frames.bytes(k).end())
                                 : decode_dct_to_jpeg(new_frames.bytes(k));
      EXPECT_TRUE(std::ranges::equal(jpeg, old_frames.bytes(k)));
    }
  }
}

TEST_F(Transcoded, ThereAndBackIsWhatThereWas) {
  transcode("data", "dct", StoreAs::dct);
  transcode("dct", "back", StoreAs::jpeg);
  const Dataset before = open("data");
  const Dataset dct = open("dct");
  const Dataset after = open("back");
  EXPECT_NE(dct.fingerprint(), before.fingerprint());
  EXPECT_EQ(after.fingerprint(), before.fingerprint());
  for (const Dataset& one : {dct, after}) {
    ASSERT_EQ(one.num_shards(), 2);
    EXPECT_EQ(one.shard(0).num_records(), 4);
    EXPECT_EQ(one.manifest().classes, manifest().classes);
    EXPECT_EQ(one.manifest().class_names, manifest().class_names);
    EXPECT_EQ(one.manifest().source.at("kind"), "test");
    EXPECT_EQ(one.manifest().source.at("path"), "/far");
    EXPECT_EQ(one.manifest().options.at("order"), "shuffle");
    EXPECT_EQ(one.manifest().options.at("seed"), "9");
    EXPECT_EQ(one.manifest().options.at("own"), "yes");
  }
  EXPECT_EQ(dct.manifest().options.at("store"), "dct");
  EXPECT_FALSE(after.manifest().options.contains("store"));
}

TEST_F(Transcoded, NamesTheRecordOfADctCodeThatIsBroken) {
  const Schema schema{{{"image", FieldType::image}}};
  Bytes code;
  ASSERT_FALSE(encode_dct_picture(jpeg_of(1), code).has_value());
  code[7] = std::byte{0xFF};  // the padding of the scan
  code[8] = std::byte{1};     // the number of bytes
  {
    DatasetWriter writer(dir_ / "broken", {.split = "train", .schema = schema});
    RecordBuilder builder(schema);
    builder.set_bytes(0, code);
    Bytes record;
    builder.encode(record);
    writer.append(record);
    writer.finish();
  }
  EXPECT_ERROR(transcode("broken", "dst", StoreAs::jpeg), corrupt, .subject = sample);
  EXPECT_FALSE(fs::exists(dir_ / "dst"));
}

TEST_F(Transcoded, RefusesWhatItCannotTakeOver) {
  EXPECT_ERROR(open_transcoded({}, {}), invalid_argument);
  EXPECT_ERROR(open_transcoded(open_splits(dir_ / "data"), {.store = StoreAs::raw}),
               invalid_argument);
  Manifest part = open("data").manifest();
  part.options["part"] = "1/2: shards 0 to 1 of 4";
  write_manifest(dir_ / "data/train/manifest.json", part);
  EXPECT_ERROR(open_transcoded(open_splits(dir_ / "data"), {}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
