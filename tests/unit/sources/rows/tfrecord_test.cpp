#include "sources/tfrecord/tfrecord_file.h"
#include "sources_prelude.h"
#include "tf_example_builder.h"

namespace ffkit {
namespace {

using testing::tf_bytes;
using testing::tf_example;
using testing::tf_floats;
using testing::tf_integers;
using testing::tf_record;

std::string labelled(int number) {
  return tf_example(tf_bytes("image/encoded", {jpeg_picture(number)}) +
                    tf_integers("image/class/label", {number + 1}) +
                    tf_bytes("image/class/text", {"number " + std::to_string(number)}));
}

TEST(TfRecord, PicturesAndLabelsAreFoundByWhatTheyAre) {
  const TempDir dir;
  write_file(dir / "set-train.tfrecord-00000-of-00002",
             tf_record(labelled(0)) + tf_record(labelled(1)));
  write_file(dir / "set-train.tfrecord-00001-of-00002", tf_record(labelled(2)));
  write_file(dir / "set-validation.tfrecord-00000-of-00001", tf_record(labelled(3)));
  const auto source = open_tfrecord(dir.path(), {.label_offset = -1});
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_EQ(source->splits()[1].name, "val");
  const Schema schema = source->schema();
  ASSERT_EQ(schema.fields.size(), 4U);
  EXPECT_EQ(describe(schema.fields[0]), describe(image_classification_schema().fields[0]));
  EXPECT_EQ(describe(schema.fields[1]), describe(image_classification_schema().fields[1]));
  EXPECT_EQ(schema.fields[2].name, "image/class/text");
  for (int64_t i = 0; i < 3; ++i) {
    const auto record = record_of(*source, 0, i);
    const RecordView view(schema, record);
    const auto bytes = view.field(0).bytes();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              jpeg_picture(static_cast<int>(i)));
    EXPECT_EQ(view.field(1).scalar<int64_t>(), i);
    EXPECT_EQ(view.field(2).string(), "number " + std::to_string(i));
  }
  const auto record = record_of(*source, 0, 2);
  EXPECT_EQ(RecordView(schema, record).field(3).string(), "set-train.tfrecord-00001-of-00002: 0");
}

TEST(TfRecord, FilesThatTheNamesCountAreMissed) {
  const TempDir dir;
  for (const char* name : {"set-train.tfrecord-00000-of-00003", "set-train.tfrecord-00002-of-00003",
                           "set-test.tfrecord-00000-of-00001"}) {
    write_file(dir / name, tf_record(labelled(0)));
  }
  const auto source = open_tfrecord(dir.path());
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("split 'train': by their names, there are 3 files "
                                 "(set-train-*), but only 2 exist")));
  EXPECT_THAT(source->notes(), Not(Contains(HasSubstr("there are 1 files"))));
  const auto one = open_tfrecord(dir / "set-train.tfrecord-00002-of-00003");
  EXPECT_THAT(one->notes(), Not(Contains(HasSubstr("by their names"))));
}

TEST(TfRecord, AFolderThatIsNoSplitMayHoldFilesOfSeveral) {
  const TempDir dir;
  fs::create_directories(dir / "data");
  write_file(dir / "data/train-00000-of-00001", tf_record(labelled(0)));
  write_file(dir / "data/test-00000-of-00001", tf_record(labelled(1)));
  const auto source = open_tfrecord(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_EQ(source->splits()[1].name, "test");
  fs::create_directories(dir / "more");
  write_file(dir / "more/train-00000-of-00001", tf_record(labelled(2)));
  EXPECT_ERROR(open_tfrecord(dir.path()), invalid_argument);
}

TEST(TfRecord, TypesAreThoseOfAllRows) {
  const TempDir dir;
  write_file(dir / "a.tfrecord",
             tf_record(tf_example(tf_floats("one", {0.5F}) + tf_floats("several", {1, 2}) +
                                  tf_integers("ids", {-1}) + tf_bytes("text", {"a"}) +
                                  tf_bytes("raw", {"\xC3\xBC"}) + tf_bytes("names", {"x", "y"}))) +
                 tf_record(tf_example(tf_floats("one", {1.5F}) + tf_floats("several", {}) +
                                      tf_integers("ids", {7, 8}) + tf_bytes("text", {""}) +
                                      tf_bytes("raw", {"\xFF"}) + tf_bytes("names", {}))));
  const auto source = open_tfrecord(dir / "a.tfrecord");
  const Schema schema = source->schema();
  const auto type_of = [&](const char* name) {
    return describe(schema.fields[schema.require(name)]);
  };
  EXPECT_EQ(type_of("one"), "'one' scalar f32 with column");
  EXPECT_EQ(type_of("several"), "'several' tensor f32");
  EXPECT_EQ(type_of("ids"), "'ids' tensor i64");
  EXPECT_EQ(type_of("text"), "'text' string");
  EXPECT_EQ(type_of("raw"), "'raw' bytes");
  EXPECT_EQ(type_of("names"), "'names' list of string");
  const auto record = record_of(*source, 0, 1);
  const RecordView view(schema, record);
  EXPECT_EQ(view.field(schema.require("one")).scalar<float>(), 1.5F);
  EXPECT_THAT(view.field(schema.require("several")).tensor().shape, ElementsAre(0));
  EXPECT_THAT(values_of<int64_t>(view.field(schema.require("ids")).tensor()), ElementsAre(7, 8));
  EXPECT_EQ(view.field(schema.require("names")).list().size(), 0U);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("'several' is empty in 1 samples")));
}

TEST(TfRecord, ShapesAndClassesAreThoseOfTensorFlowDatasets) {
  const TempDir dir;
  write_file(dir / "set-train.tfrecord-00000-of-00001",
             tf_record(tf_example(tf_floats("objects/bbox", {1, 2, 3, 4, 5, 6, 7, 8}) +
                                  tf_integers("label", {1}) + tf_integers("grid", {1, 2, 3, 4}))) +
                 tf_record(tf_example(tf_integers("label", {0}) + tf_integers("grid", {1, 2, 3}))));
  write_file(dir / "features.json",
             R"({"featuresDict": {"features": {
  "label": {"classLabel": {"numClasses": "2"}},
  "grid": {"tensor": {"shape": {"dimensions": ["2", "2"]}, "dtype": "int64", "encoding": "none"}},
  "objects": {"sequence": {"feature": {"featuresDict": {"features": {
    "bbox": {"boundingBox": {"shape": {"dimensions": ["4"]}, "dtype": "float32"}}}}}, "length": "-1"}}}}})");
  write_file(dir / "label.labels.txt", "cat\ndog\n");
  const auto source = open_tfrecord(dir.path());
  EXPECT_THAT(source->classes(), ElementsAre("cat", "dog"));
  const Schema schema = source->schema();
  auto record = record_of(*source, 0, 0);
  EXPECT_THAT(RecordView(schema, record).tensor(schema.require("objects/bbox")).shape,
              ElementsAre(2, 4));
  EXPECT_THAT(RecordView(schema, record).tensor(schema.require("grid")).shape, ElementsAre(2, 2));
  EXPECT_ERROR(record_of(*source, 0, 1), invalid_argument);
}

TEST(TfRecord, OneDamagedRowIsABadSample) {
  const TempDir dir;
  std::string damaged = tf_record(labelled(1));
  damaged[40] ^= 1;
  write_file(dir / "a.tfrecord", tf_record(labelled(0)) + damaged + tf_record(labelled(2)));
  const auto source = open_tfrecord(dir / "a.tfrecord");
  EXPECT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_ERROR(record_of(*source, 0, 1), corrupt, .path = (dir / "a.tfrecord: 1").string());
  EXPECT_NO_THROW(record_of(*source, 0, 2));
}

TEST(TfRecord, FilesThatAreSomethingElseAreRefused) {
  const TempDir dir;
  const std::string record = tf_record(labelled(0));
  const auto opened = [&](const std::string& content) {
    write_file(dir / "a.tfrecord", content);
    return open_tfrecord(dir / "a.tfrecord");
  };
  EXPECT_ERROR(opened(record.substr(0, record.size() - 1)), corrupt);
  EXPECT_ERROR(opened(jpeg_picture(1)), unsupported);
  EXPECT_ERROR(opened("no records, but text"), corrupt);
  EXPECT_ERROR(opened("\x78\x9C and more of it"), unsupported);
  EXPECT_ERROR(opened("\x83\xAF\x70\xD1\x0D\x88\x4A\x3F and more"), unsupported);
  EXPECT_ERROR(opened(""), not_found);
  EXPECT_ERROR(opened(tf_record("")), not_found);
  // A SequenceExample has a second field.
  EXPECT_ERROR(opened(tf_record(labelled(0) + testing::message_field(2, ""))), unsupported);
  EXPECT_ERROR(open_tfrecord(dir / "none"), not_found);
  fs::create_directory(dir / "empty");
  EXPECT_ERROR(open_tfrecord(dir / "empty"), not_found);
}

TEST(TfRecord, ACutEndIsOneBadSample) {
  const TempDir dir;
  const std::string record = tf_record(labelled(0));
  for (const std::string& end : {record.substr(0, 5), record.substr(0, 14),
                                 record.substr(0, record.size() - 1), std::string(500, '\0')}) {
    write_file(dir / "a.tfrecord", record + record + end);
    const auto source = open_tfrecord(dir / "a.tfrecord");
    ASSERT_EQ(source->splits()[0].num_samples, 3);
    EXPECT_NO_THROW(record_of(*source, 0, 1));
    EXPECT_ERROR(record_of(*source, 0, 2), corrupt, .path = (dir / "a.tfrecord: 2").string());
    EXPECT_THAT(source->notes(), Contains(HasSubstr(std::to_string(end.size()) + " bytes")));
  }
}

TEST(TfRecord, ListsOfIndexesBesideAreNoRecords) {
  const TempDir dir;
  write_file(dir / "train.record", tf_record(labelled(0)));
  write_file(dir / "val.tfrecord-00000-of-00001", tf_record(labelled(1)));
  for (const char* name : {"train.record.idx", "train.tfrecord.index",
                           "val.tfrecord-00000-of-00001.idx", "index/train.tfrecord.idx"}) {
    write_file(dir / name, "0 100\n");
  }
  const auto source = open_tfrecord(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_EQ(source->splits()[1].num_samples, 1);
}

TEST(TfRecord, WhatDatasetInfoCountsIsCompared) {
  const TempDir dir;
  write_file(dir / "c-train.tfrecord-00000-of-00001", tf_record(labelled(0)));
  write_file(dir / "c-validation.tfrecord-00000-of-00001", tf_record(labelled(1)));
  const auto info = [&](const char* train, const char* validation) {
    write_file(dir / "dataset_info.json",
               std::string(R"({"splits": [{"name": "train", "shardLengths": [")") + train +
                   R"("]}, {"name": "validation", "shardLengths": [")" + validation +
                   R"("]}, {"name": "old"}]})");
  };
  info("1", "1");
  EXPECT_THAT(open_tfrecord(dir.path())->notes(), Not(Contains(HasSubstr("dataset_info"))));
  info("1", "7");
  EXPECT_THAT(open_tfrecord(dir.path())->notes(),
              Contains(HasSubstr("found 1 records of split 'validation'")));
  write_file(dir / "dataset_info.json", "{");
  EXPECT_ERROR(open_tfrecord(dir.path()), corrupt);
}

TEST(TfRecord, BytesWithZerosAreNoTexts) {
  const TempDir dir;
  write_file(dir / "a.tfrecord",
             tf_record(tf_example(tf_bytes("raw", {std::string(8, '\0')}) +
                                  tf_bytes("text", {"a text"}) + tf_bytes("none", {""}))));
  const Schema schema = open_tfrecord(dir / "a.tfrecord")->schema();
  EXPECT_EQ(schema.fields[static_cast<size_t>(schema.index_of("raw"))].type, FieldType::bytes);
  EXPECT_EQ(schema.fields[static_cast<size_t>(schema.index_of("text"))].type, FieldType::string);
  EXPECT_EQ(schema.fields[static_cast<size_t>(schema.index_of("none"))].type, FieldType::string);
}

TEST(TfRecord, ASplitWithoutLabelsHasNone) {
  const TempDir dir;
  const std::string unlabelled =
      tf_record(tf_example(tf_bytes("image/encoded", {jpeg_picture(3)})));
  write_file(dir / "train.tfrecord", tf_record(labelled(4)));
  write_file(dir / "test.tfrecord", unlabelled);
  const auto source = open_tfrecord(dir.path());
  const Schema schema = source->schema();
  const auto record = record_of(*source, 1, 0);
  EXPECT_EQ(RecordView(schema, record).field(1).scalar<int64_t>(), -1);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("no row of 'test' has a label")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the smallest label is 5")));
  // One that has some is not such.
  write_file(dir / "test.tfrecord", unlabelled + tf_record(labelled(0)));
  EXPECT_ERROR(record_of(*open_tfrecord(dir.path()), 1, 0), invalid_argument);
}

TEST(TfRecord, ASplitWithoutSamplesIsLeftOut) {
  const TempDir dir;
  write_file(dir / "train.tfrecord", "");
  write_file(dir / "val.tfrecord", tf_record(labelled(0)));
  const auto source = open_tfrecord(dir.path());
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->splits()[0].name, "val");
  EXPECT_EQ(source->identity(0, 0).name, "val.tfrecord: 0");
  EXPECT_EQ(source->inputs(0).front().name, "val.tfrecord");
  EXPECT_NO_THROW(record_of(*source, 0, 0));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("split 'train' has no samples")));
}

TEST(TfRecord, FilesMayBeBelowAFolderMore) {
  const TempDir dir;
  write_file(dir / "cifar/3.0.2/cifar-train.tfrecord-00000-of-00001", tf_record(labelled(0)));
  const auto source = open_tfrecord(dir.path());
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_EQ(source->identity(0, 0).name, "cifar/3.0.2/cifar-train.tfrecord-00000-of-00001: 0");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("are below 'cifar'")));
  write_file(dir / "mnist/3.0.1/mnist-train.tfrecord-00000-of-00001", tf_record(labelled(0)));
  EXPECT_ERROR(open_tfrecord(dir.path()), not_found);
}

TEST(TfRecord, ALengthBeyondTheFileIsNoAllocation) {
  const TempDir dir;
  const std::string length = testing::little_bytes(uint64_t{1} << 60);
  write_file(dir / "a.tfrecord",
             length + testing::little_bytes(testing::tf_crc(length)) + "some bytes");
  EXPECT_ERROR(open_tfrecord(dir / "a.tfrecord"), corrupt);
}

TEST(TfExample, TheLastOfEqualNamesCounts) {
  const std::string message =
      tf_example(tf_integers("a", {1}) + tf_integers("b", {2}) + tf_integers("a", {3, 4}));
  TfExample example;
  example.parse(std::as_bytes(std::span(message)));
  ASSERT_EQ(example.features().size(), 2U);
  std::vector<int64_t> numbers(example.find("a")->num_values);
  example.find("a")->read_integers(numbers);
  EXPECT_THAT(numbers, ElementsAre(3, 4));
  EXPECT_EQ(example.find("c"), nullptr);
}

TEST(TfExample, NumbersMayStandAlone) {
  using testing::message_field;
  using testing::varint;
  // Not packed: a key before each number.
  const std::string integers =
      varint(8) + varint(300) + varint(8) + varint(static_cast<uint64_t>(-2));
  const std::string floats = varint(13) + testing::little_bytes(2.5F);
  const std::string message =
      tf_example(testing::tf_feature("i", 3, integers) + testing::tf_feature("f", 2, floats));
  TfExample example;
  example.parse(std::as_bytes(std::span(message)));
  std::vector<int64_t> numbers(example.find("i")->num_values);
  example.find("i")->read_integers(numbers);
  EXPECT_THAT(numbers, ElementsAre(300, -2));
  std::vector<float> reals(example.find("f")->num_values);
  example.find("f")->read_floats(reals);
  EXPECT_THAT(reals, ElementsAre(2.5F));
}

TEST(TfExample, WhatIsNoMessageIsRefused) {
  const std::string whole = labelled(3);
  TfExample example;
  for (size_t length = 1; length < whole.size(); length += 7) {
    const std::string cut = whole.substr(0, length);
    EXPECT_ERROR(example.parse(std::as_bytes(std::span(cut))), corrupt);
  }
}

}  // namespace
}  // namespace ffkit
