// Several data sets behind one record number: Dataset::chain().
#include "format_prelude.h"

namespace ffkit {
namespace {

const Field kIdField{.name = "id", .type = FieldType::string, .column = true};
const Field kLabelField{
    .name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true};
const Field kDepthField{
    .name = "depth", .type = FieldType::scalar, .dtype = DType::f32, .column = true};
const Field kBoxField{.name = "box", .type = FieldType::tensor, .dtype = DType::f64};

struct SetSpec {
  std::vector<Field> fields;
  int64_t num_records = 3;
  std::vector<std::string> classes = {"cat", "dog"};
  std::vector<std::string> class_names = {};
  std::vector<ClassId> class_ids = {};
  std::map<std::string, std::string> source = {{"kind", "test"}};
  int level = 0;
};

// The fields of record i have values that begin with the set's name, or are i and more.
Dataset write_set(const std::filesystem::path& folder, const SetSpec& spec) {
  std::filesystem::create_directories(folder.parent_path());
  DatasetWriter writer(folder,
                       {.split = "train",
                        .schema = {spec.fields},
                        .classes = spec.classes,
                        .class_names = spec.class_names,
                        .class_ids = spec.class_ids,
                        .source = spec.source},
                       {.compression = {.level = spec.level}});
  for (int64_t i = 0; i < spec.num_records; ++i) {
    RecordBuilder builder(writer.schema());
    const std::string id = folder.filename().string() + std::to_string(i);
    const std::vector<double> box = {1, 2, static_cast<double>(i)};
    for (size_t f = 0; f < spec.fields.size(); ++f) {
      const std::string& name = spec.fields[f].name;
      if (name == "id") builder.set_string(f, id);
      if (name == "label") builder.set_scalar<int64_t>(f, i + 10);
      if (name == "depth" && i != 1 && spec.fields[f].dtype == DType::f32)
        builder.set_scalar<float>(f, static_cast<float>(i) + 0.5F);
      if (name == "box") builder.set_tensor(f, {DType::f64, {3}, std::as_bytes(std::span(box))});
    }
    writer.append(testing::encoded(builder));
  }
  writer.finish();
  return Dataset::open(folder);
}

class DatasetChainTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
  // b has the fields in another order, lacks the label, and has a depth and a box.
  Dataset a_ = write_set(dir_ / "a", {.fields = {kIdField, kLabelField}, .num_records = 4});
  Dataset b_ = write_set(dir_ / "b", {.fields = {kDepthField, kBoxField, kIdField}});
  Dataset ab_ = Dataset::chain({a_, b_});

  static std::string id_of(const Dataset& dataset, int64_t record) {
    std::vector<std::byte> bytes;
    dataset.read(record, bytes);
    const RecordView view(dataset.schema(), bytes, dataset.name(record));
    view.verify_fields();
    return std::string(view.string(dataset.schema().require("id")));
  }
};

TEST_F(DatasetChainTest, RecordsOfTheFirstComeFirst) {
  EXPECT_EQ(ab_.num_records(), 7);
  EXPECT_EQ(ab_.num_shards(), 2);
  EXPECT_EQ(ab_.num_sources(), 2);
  EXPECT_FALSE(ab_.is_subset());
  EXPECT_THAT(ab_.source_sizes(), ElementsAre(4, 3));
  for (int64_t i = 0; i < 7; ++i) {
    const bool is_of_a = i < 4;
    EXPECT_EQ(id_of(ab_, i), is_of_a ? "a" + std::to_string(i) : "b" + std::to_string(i - 4));
    EXPECT_EQ(ab_.source_of(i), is_of_a ? 0 : 1);
    EXPECT_EQ(ab_.locate(i).shard_index, is_of_a ? 0 : 1);
    EXPECT_EQ(*ab_.name(i).file, (is_of_a ? a_ : b_).shard(0).path());
    EXPECT_EQ(ab_.name(i).record, is_of_a ? i : i - 4);
  }
  EXPECT_EQ(ab_.source(1).fingerprint(), b_.fingerprint());
  EXPECT_EQ(ab_.path(), a_.path());
  EXPECT_ERROR(ab_.source_of(7), invalid_argument);
  EXPECT_ERROR(ab_.source(2), invalid_argument);
  EXPECT_ERROR(Dataset::chain({}), invalid_argument);
}

TEST_F(DatasetChainTest, OneDataSetIsItself) {
  const Dataset one = Dataset::chain({a_});
  EXPECT_EQ(one.fingerprint(), a_.fingerprint());
  EXPECT_EQ(one.num_sources(), 1);
  EXPECT_EQ(one.source_of(3), 0);
  EXPECT_EQ(one.field_mapping(3), nullptr);
  EXPECT_THAT(one.source_sizes(), ElementsAre(4));
  EXPECT_EQ(one.source(0).num_records(), 4);
}

TEST_F(DatasetChainTest, FieldsAreThoseOfAllAndNullWhereASetLacksThem) {
  ASSERT_EQ(ab_.schema(), (Schema{{kIdField, kLabelField, kDepthField, kBoxField}}));
  std::vector<std::byte> bytes;
  ab_.read(2, bytes);
  const RecordView of_a(ab_.schema(), bytes);
  EXPECT_EQ(of_a.scalar<int64_t>(1), 12);
  EXPECT_TRUE(of_a.is_null(2));
  EXPECT_TRUE(of_a.is_null(3));
  EXPECT_ERROR(of_a.scalar<float>(2), not_found, .subject = field);

  ab_.read(6, bytes);
  const RecordView of_b(ab_.schema(), bytes);
  EXPECT_EQ(of_b.string(0), "b2");
  EXPECT_TRUE(of_b.is_null(1));
  EXPECT_EQ(of_b.scalar<float>(2), 2.5F);
  EXPECT_EQ(of_b.tensor(3).shape, std::vector<int64_t>{3});
}

// What a loader does: the bytes as they are stored, under the schema of all.
TEST_F(DatasetChainTest, StoredRecordsAreSeenThroughTheMapping) {
  EXPECT_EQ(Dataset::chain({a_, a_}).field_mapping(5), nullptr);
  for (const int64_t record : {int64_t{1}, int64_t{5}}) {
    const Dataset& set = record < 4 ? a_ : b_;
    const int64_t number = record < 4 ? record : record - 4;
    std::vector<std::byte> stored;
    set.read(number, stored);
    ASSERT_NE(ab_.field_mapping(record), nullptr);
    const RecordView view(ab_.schema(), stored, ab_.name(record), ab_.field_mapping(record));
    view.verify_fields();
    for (size_t i = 0; i < ab_.schema().fields.size(); ++i) {
      const int own = set.schema().index_of(ab_.schema().fields[i].name);
      ASSERT_EQ(view.is_null(i),
                own < 0 || RecordView(set.schema(), stored).is_null(static_cast<size_t>(own)));
    }
    EXPECT_EQ(view.string(0), set.string_column("id")[static_cast<size_t>(number)]);
    stored.resize(8);
    EXPECT_ERROR(RecordView(ab_.schema(), stored, {}, ab_.field_mapping(record)), corrupt,
                 .subject = sample);
  }
}

TEST_F(DatasetChainTest, ColumnsAndSingleFields) {
  EXPECT_THAT(ab_.string_column("id"), ElementsAre("a0", "a1", "a2", "a3", "b0", "b1", "b2"));
  EXPECT_THAT(ab_.int_column("label"), ElementsAre(10, 11, 12, 13, 0, 0, 0));
  EXPECT_THAT(ab_.float_column("depth"), ElementsAre(0, 0, 0, 0, 0.5, 0, 2.5));
  EXPECT_ERROR(ab_.int_column("colour"), not_found, .subject = field);
  std::vector<std::byte> bytes = {std::byte{1}};
  EXPECT_FALSE(ab_.read_field(2, 2, bytes));
  EXPECT_FALSE(ab_.read_field(5, 2, bytes));  // null in b as well
  ASSERT_TRUE(ab_.read_field(6, 0, bytes));
  EXPECT_EQ(FieldView(kIdField, bytes, false).string(), "b2");
  EXPECT_ERROR(ab_.read_field(6, 9, bytes), invalid_argument);
  // Kept as a column by one set alone.
  Field plain = kLabelField;
  plain.column = false;
  const Dataset c = write_set(dir_ / "c", {.fields = {plain}});
  EXPECT_FALSE(Dataset::chain({a_, c}).schema().fields[1].column);
  EXPECT_ERROR(Dataset::chain({a_, c}).int_column("label"), not_found, .subject = field);
}

TEST_F(DatasetChainTest, SubsetsOfAChainAndChainsOfSubsets) {
  const Dataset mixed = ab_.subset({6, 0, 5});
  EXPECT_EQ(mixed.num_sources(), 2);
  EXPECT_EQ(mixed.source_of(0), 1);
  EXPECT_EQ(mixed.source_of(1), 0);
  EXPECT_EQ(id_of(mixed, 0), "b2");
  EXPECT_THAT(mixed.float_column("depth"), ElementsAre(2.5, 0, 0));
  EXPECT_ERROR(mixed.source_sizes(), invalid_argument);

  const Dataset chosen = Dataset::chain({a_.subset({3, 1}), b_.subset({2, 2, 0})});
  EXPECT_TRUE(chosen.is_subset());
  EXPECT_THAT(chosen.source_sizes(), ElementsAre(2, 3));
  EXPECT_THAT(chosen.string_column("id"), ElementsAre("a3", "a1", "b2", "b2", "b0"));
  EXPECT_EQ(chosen.index_in_split(2), 6);
  EXPECT_EQ(chosen.whole_split().fingerprint(), ab_.fingerprint());
  EXPECT_EQ(chosen.fingerprint(), ab_.subset({3, 1, 6, 6, 4}).fingerprint());

  EXPECT_THAT(ab_.where(parse_filter("id in {'a1', 'b0'}")).string_column("id"),
              ElementsAre("a1", "b0"));
  EXPECT_ERROR(ab_.where(parse_filter("depth > 0")), not_found, .subject = field);

  const Dataset nested = Dataset::chain({ab_, a_});
  EXPECT_EQ(nested.num_sources(), 3);
  EXPECT_THAT(nested.source_sizes(), ElementsAre(4, 3, 4));
  EXPECT_EQ(nested.fingerprint(), Dataset::chain({a_, b_, a_}).fingerprint());
}

TEST_F(DatasetChainTest, TheFingerprintIsOfAllSetsInTheirOrder) {
  const Dataset c = write_set(dir_ / "c", {.fields = {kIdField, kLabelField}, .num_records = 5});
  const std::string own = ab_.fingerprint();
  EXPECT_EQ(own, Dataset::chain({a_, b_}).fingerprint());
  EXPECT_NE(own, Dataset::chain({b_, a_}).fingerprint());
  EXPECT_NE(own, Dataset::chain({a_, c}).fingerprint());
  EXPECT_NE(own, Dataset::chain({a_, b_, c}).fingerprint());
  const Dataset as_one = Dataset::open_files({a_.shard(0).path(), c.shard(0).path()});
  EXPECT_NE(Dataset::chain({a_, c}).fingerprint(), as_one.fingerprint());
}

TEST_F(DatasetChainTest, TheManifestHasWhatAllAgreeOn) {
  const Dataset c = write_set(dir_ / "c", {.fields = {kIdField},
                                           .class_names = {"Cat", "Dog"},
                                           .source = {{"kind", "test"}, {"persons", "muco"}}});
  const Manifest manifest = Dataset::chain({a_, c}).manifest();
  EXPECT_EQ(manifest.num_records(), 7);
  EXPECT_EQ(manifest.file_bytes(), a_.manifest().file_bytes() + c.manifest().file_bytes());
  EXPECT_EQ(manifest.split, "train");
  EXPECT_THAT(manifest.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(manifest.class_names, ElementsAre("Cat", "Dog"));
  const Dataset ids = write_set(dir_ / "ids", {.fields = {kIdField}, .class_ids = {3, 90}});
  const Dataset others = write_set(dir_ / "others", {.fields = {kIdField}, .class_ids = {3, 4}});
  EXPECT_EQ(Dataset::chain({a_, ids}).manifest().class_ids, ids.manifest().class_ids);
  EXPECT_ERROR(Dataset::chain({ids, others}), invalid_argument);
  // What one lacks, and what is another value.
  const Dataset d = write_set(
      dir_ / "d", {.fields = {kIdField}, .source = {{"kind", "test"}, {"persons", "mpii"}}});
  const std::map<std::string, std::string> common = {{"kind", "test"}};
  EXPECT_EQ(manifest.source, common);
  EXPECT_EQ(Dataset::chain({c, a_}).manifest().source, common);
  EXPECT_EQ(Dataset::chain({c, d}).manifest().source, common);
}

TEST_F(DatasetChainTest, WhatCannotBeMixedIsNamed) {
  Field other = kDepthField;
  other.dtype = DType::f64;
  const Dataset c = write_set(dir_ / "c", {.fields = {kIdField, other}});
  EXPECT_ERROR(Dataset::chain({a_, b_, c}), invalid_argument, .path = dir_ / "c");
  const Dataset d = write_set(dir_ / "d", {.fields = {kIdField}, .classes = {"cat", "cow"}});
  EXPECT_ERROR(Dataset::chain({a_, d}), invalid_argument, .path = dir_ / "d");
  const Dataset e = write_set(dir_ / "e", {.fields = {kIdField}, .classes = {"cat"}});
  EXPECT_ERROR(Dataset::chain({a_, e}), invalid_argument, .path = dir_ / "e");
}

// Decompressed on the way.
TEST_F(DatasetChainTest, CompressedRecords) {
  const Dataset c = write_set(dir_ / "c", {.fields = {kBoxField, kIdField}, .level = 3});
  EXPECT_EQ(id_of(Dataset::chain({a_, c}), 5), "c1");
}

}  // namespace
}  // namespace ffkit
