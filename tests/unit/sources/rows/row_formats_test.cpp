// What holds of every format of rows that other libraries write: splits, samples that are too
// large, files that are cut or something else, threads and parts.
#include "rows/beton_builder.h"
#include "rows/litdata_builder.h"
#include "rows/lmdb_builder.h"
#include "rows/mds_builder.h"
#include "rows/recordio_builder.h"
#include "rows/tf_example_builder.h"
#include "sources_prelude.h"
#include "whole_files.h"

namespace ffkit {
namespace {

using Pictures = std::vector<std::string>;

// Sample n has picture n and the label n.
struct RowFormat {
  const char* name;
  // Writes a split below `root`; returns the file that has its samples.
  fs::path (*write)(const fs::path& root, const std::string& split, const Pictures& pictures);
  std::unique_ptr<Source> (*open)(const fs::path& root, const RowOptions& options);
};

fs::path write_mds(const fs::path& root, const std::string& split, const Pictures& pictures) {
  testing::MdsBuilder builder;
  builder.add_column("image", "jpeg").add_column("label", "int", 8);
  std::vector<std::string> rows;
  for (int64_t n = 0; n < std::ssize(pictures); ++n) {
    rows.push_back(builder.row({pictures[size_t(n)], testing::bytes_of_number(n)}));
  }
  builder.write(root / split, rows);
  return root / split / "shard.00000.mds";
}

fs::path write_litdata(const fs::path& root, const std::string& split, const Pictures& pictures) {
  std::vector<std::string> rows;
  for (int64_t n = 0; n < std::ssize(pictures); ++n) {
    rows.push_back(
        testing::LitDataBuilder::row({pictures[size_t(n)], testing::bytes_of_number(n)}));
  }
  testing::LitDataBuilder()
      .add_leaf("image", "jpeg")
      .add_leaf("label", "int")
      .write(root / split, rows);
  return root / split / "chunk-0-0.bin";
}

fs::path write_tfrecord(const fs::path& root, const std::string& split, const Pictures& pictures) {
  std::string file;
  for (int64_t n = 0; n < std::ssize(pictures); ++n) {
    file += testing::tf_record(testing::tf_example(
        testing::tf_bytes("image", {pictures[size_t(n)]}) + testing::tf_integers("label", {n})));
  }
  write_file(root / (split + ".tfrecord"), file);
  return root / (split + ".tfrecord");
}

fs::path write_recordio(const fs::path& root, const std::string& split, const Pictures& pictures) {
  testing::RecordIoBuilder builder;
  for (size_t n = 0; n < pictures.size(); ++n) builder.add_image({float(n)}, n, pictures[n]);
  write_file(root / (split + ".rec"), builder.file());
  return root / (split + ".rec");
}

fs::path write_beton(const fs::path& root, const std::string& split, const Pictures& pictures) {
  testing::BetonBuilder builder;
  builder.field("image", testing::BetonBuilder::image);
  builder.field("label", testing::BetonBuilder::integer);
  for (size_t n = 0; n < pictures.size(); ++n) {
    builder.add_image(0, 16, 16, pictures[n]).add_number(n).row();
  }
  write_file(root / (split + ".beton"), builder.file());
  return root / (split + ".beton");
}

fs::path write_lmdb(const fs::path& root, const std::string& split, const Pictures& pictures) {
  testing::LmdbBuilder builder;
  for (size_t n = 0; n < pictures.size(); ++n) {
    builder.add(fmt::format("{:02}", n),
                testing::DatumBuilder().data(pictures[n]).number(7, 1).label(n).message());
    if (n % 10 == 9) builder.leaf();
  }
  write_file(root / (split + ".lmdb"), builder.file());
  return root / (split + ".lmdb");
}

constexpr RowFormat kRowFormats[] = {
    {"Mds", write_mds, open_mds},
    {"LitData", write_litdata, open_litdata},
    {"TfRecord", write_tfrecord, open_tfrecord},
    {"RecordIo", write_recordio, open_recordio},
    {"Beton", write_beton, open_beton},
    {"Lmdb", write_lmdb,
     [](const fs::path& root, const RowOptions& options) {
       return open_lmdb(root, {.rows = options});
     }},
};

bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::not_found;
}

class RowFormats : public ::testing::TestWithParam<RowFormat> {
 protected:
  fs::path write(const std::string& split, const Pictures& pictures) const {
    return GetParam().write(root_, split, pictures);
  }
  std::unique_ptr<Source> open(const RowOptions& options = {}) const {
    return GetParam().open(root_, options);
  }
  // Picture, label and id.
  static std::tuple<std::string, int64_t, std::string> sample(const Source& source, int64_t row,
                                                              size_t split = 0) {
    const Schema schema = source.schema();
    const std::vector<std::byte> record = record_of(source, split, row);
    const RecordView view(schema, record);
    return {text_of(view.bytes(0)), view.scalar<int64_t>(1),
            std::string(view.string(schema.fields.size() - 1))};
  }

  TempDir dir_;
  fs::path root_ = dir_ / "root";
  const Pictures four_ = {jpeg_picture(1), jpeg_picture(2), jpeg_picture(3), jpeg_picture(4)};
};

TEST_P(RowFormats, GiveTheirSamplesBySplit) {
  write("train", four_);
  write("val", {jpeg_picture(9)});
  const auto source = open();
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_EQ(source->splits()[0].num_samples, 4);
  EXPECT_EQ(source->splits()[1].name, "val");
  EXPECT_EQ(source->splits()[1].num_samples, 1);
  EXPECT_EQ(source->schema(), image_classification_schema());
  std::set<std::string> ids;
  for (int64_t row = 0; row < 4; ++row) {
    const auto [picture, label, id] = sample(*source, row);
    EXPECT_EQ(picture, four_[size_t(row)]);
    EXPECT_EQ(label, row);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
  EXPECT_EQ(std::get<0>(sample(*source, 0, 1)), jpeg_picture(9));
}

TEST_P(RowFormats, SamplesBeyondTheLimitAreBadOnes) {
  write("train", {four_[0], four_[1] + std::string(4096, 'x'), four_[2]});
  const auto source = open({.max_sample_bytes = 2048});
  ASSERT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_EQ(std::get<0>(sample(*source, 0)), four_[0]);
  EXPECT_ERROR(record_of(*source, 0, 1), unsupported);
  EXPECT_EQ(std::get<1>(sample(*source, 2)), 2);
  const ConvertSummary summary =
      convert(*source, dir_ / "set", {.order = Order::sequential, .bad_samples = BadSamples::skip});
  EXPECT_EQ(summary.splits[0].num_records, 2);
  EXPECT_EQ(summary.num_skipped(), 1);
}

TEST_P(RowFormats, FilesOfSomethingElseAreRefused) {
  const fs::path file = write("train", four_);
  for (const std::string& content :
       {std::string(), std::string("hello, world, this is not a file of rows"), jpeg_picture(1)}) {
    write_file(file, content);
    try {
      open();
      ADD_FAILURE() << content.substr(0, 5);
    } catch (const Error& error) {
      EXPECT_TRUE(is_refusal(error)) << error.what();
    }
  }
}

// What is read of a cut file is right, and the rest is bad samples; or nothing is read.
TEST_P(RowFormats, CutFilesGiveNoWrongSample) {
  const fs::path file = write("train", four_);
  const std::string whole = read_file(file);
  for (const size_t size : {whole.size() - 40, whole.size() / 2, size_t{10}}) {
    write_file(file, whole.substr(0, size));
    std::unique_ptr<Source> source;
    try {
      source = open();
    } catch (const Error& error) {
      EXPECT_TRUE(is_refusal(error)) << error.what();
      continue;
    }
    const int64_t num_rows = source->splits()[0].num_samples;
    int64_t num_bad = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      try {
        EXPECT_EQ(std::get<0>(sample(*source, row)), four_[size_t(row)]);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.what();
        ++num_bad;
      }
    }
    EXPECT_GT(num_bad, 0) << size;
    if (num_bad == num_rows) continue;
    const ConvertSummary summary =
        convert(*source, dir_ / std::to_string(size),
                {.order = Order::sequential, .bad_samples = BadSamples::skip});
    EXPECT_EQ(summary.num_skipped(), num_bad);
    EXPECT_EQ(summary.splits[0].num_records, num_rows - num_bad);
  }
}

TEST_P(RowFormats, WhatIsNotThereIsNotFound) {
  EXPECT_ERROR_CODE(open(), not_found);
  fs::create_directory(root_);
  EXPECT_ERROR_CODE(open(), not_found);
}

TEST_P(RowFormats, ThreadsAndPartsGiveTheSameSet) {
  Pictures pictures;
  for (int n = 0; n < 40; ++n) pictures.push_back(jpeg_picture(n, 16 + n));
  write("train", pictures);
  ConvertOptions options{.num_threads = 1, .shard_bytes = 1 << 20, .seed = 3};
  convert(*open(), dir_ / "one", options);
  const auto wanted = testing::files_of(dir_ / "one");
  options.num_threads = 6;
  convert(*open(), dir_ / "threads", options);
  EXPECT_TRUE(testing::files_of(dir_ / "threads") == wanted);
  options.merge_when_complete = true;
  for (const int64_t part : {2, 1, 3}) {
    options.part = {.index = part, .count = 3};
    convert(*open(), dir_ / "parts", options);
  }
  EXPECT_TRUE(testing::files_of(dir_ / "parts") == wanted);
}

INSTANTIATE_TEST_SUITE_P(All, RowFormats, ::testing::ValuesIn(kRowFormats),
                         [](const auto& made) { return std::string(made.param.name); });

}  // namespace
}  // namespace ffkit
