// The same pictures give the same batches, however they are stored: raw, compressed, with a
// dictionary, in FFRecord v1 files, in the dct code, or chosen from more.
#include "base/bytes/pickle.h"
#include "loader_prelude.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

using testing::DatasetSpec;

struct LabelledPicture {
  std::vector<std::byte> image;
  int64_t label = 0;
};

// Zeros behind the picture, which decoders do not mind, so that compression saves something.
std::vector<LabelledPicture> pictures_of(const Dataset& dataset) {
  std::vector<LabelledPicture> pictures;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    dataset.read(i, bytes);
    const RecordView record(dataset.schema(), bytes);
    const auto image = record.bytes(0);
    LabelledPicture picture{{image.begin(), image.end()}, record.scalar<int64_t>(1)};
    picture.image.resize(picture.image.size() + 2000);
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

Schema datasets_schema() {
  return Schema{
      {{.name = "image", .type = FieldType::image},
       {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}};
}

std::vector<std::byte> encode(const Schema& schema, const LabelledPicture& picture) {
  RecordBuilder builder(schema);
  builder.set_bytes(0, picture.image);
  builder.set_scalar(1, picture.label);
  return testing::encoded(builder);
}

Dataset write(const std::filesystem::path& folder, const std::vector<LabelledPicture>& pictures,
              const CompressionOptions& compression) {
  DatasetWriter writer(folder, {.split = "train", .schema = datasets_schema()},
                       {.compression = compression});
  for (const LabelledPicture& picture : pictures) writer.append(encode(writer.schema(), picture));
  writer.finish();
  return Dataset::open(folder);
}

class LoaderDatasetsTest : public ::testing::Test {
 protected:
  static LoaderOptions options() {
    LoaderOptions options;
    options.batch_size = 7;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = 24};
    options.image.output = {.dtype = DType::u8, .normalize = false};
    options.sampler.seed = 3;
    return options;
  }
  static void expect_same_batches(const Dataset& a, const Dataset& b,
                                  LoaderOptions with = options()) {
    Loader first(a, with);
    Loader second(b, with);
    EXPECT_TRUE(collect_epoch(first, 1) == collect_epoch(second, 1));
  }

  testing::TempDir dir_;
  std::vector<LabelledPicture> pictures_ = pictures_of(testing::make_dataset(dir_ / "source"));
  Dataset plain_ = write(dir_ / "plain", pictures_, {});
};

TEST_F(LoaderDatasetsTest, CompressedRecords) {
  const Dataset zstd = write(dir_ / "zstd", pictures_, {.level = 3});
  ASSERT_EQ(zstd.locate(0).record.codec, Codec::zstd);
  expect_same_batches(plain_, zstd);
  LoaderOptions trusting = options();
  trusting.io.verify_checksums = false;
  trusting.io.engine = IoEngine::pread;
  expect_same_batches(plain_, zstd, trusting);

  std::vector<std::vector<std::byte>> samples;
  for (const LabelledPicture& picture : pictures_)
    samples.push_back(encode(datasets_schema(), picture));
  const Dataset with_dictionary = write(
      dir_ / "dictionary", pictures_, {.level = 3, .dictionary = train_dictionary(samples, 4096)});
  ASSERT_EQ(with_dictionary.locate(0).record.codec, Codec::zstd_dictionary);
  expect_same_batches(plain_, with_dictionary);
}

TEST_F(LoaderDatasetsTest, V1Files) {
  std::vector<std::string> records;
  for (const LabelledPicture& picture : pictures_) {
    std::vector<std::byte> pickle;
    pickle_bytes_and_label(picture.image, picture.label, pickle);
    records.emplace_back(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  }
  const size_t half = records.size() / 2;
  std::filesystem::create_directory(dir_ / "train.ffr");
  testing::write_v1_file(dir_ / "train.ffr/PART_00000.ffr",
                         {records.begin(), records.begin() + static_cast<ptrdiff_t>(half)});
  testing::write_v1_file(dir_ / "train.ffr/PART_00001.ffr",
                         {records.begin() + static_cast<ptrdiff_t>(half), records.end()});
  const Dataset v1 = Dataset::open(dir_.path(), "train");
  expect_same_batches(plain_, v1);
  LoaderOptions sequential = options();
  sequential.sampler.order = Order::sequential;
  expect_same_batches(plain_, v1, sequential);
}

TEST_F(LoaderDatasetsTest, SubsetsShuffleTheirOwnRecords) {
  const Dataset some = plain_.where(parse_filter("label < 100"));
  ASSERT_GT(some.num_records(), 3);
  std::vector<LabelledPicture> chosen;
  for (int64_t i = 0; i < some.num_records(); ++i) {
    chosen.push_back(pictures_[static_cast<size_t>(some.index_in_split(i))]);
  }
  LoaderOptions exact = options();
  exact.sampler.tail = Tail::exact;
  expect_same_batches(some, write(dir_ / "chosen", chosen, {}), exact);
  // A state belongs to the choice that it was taken from.
  Loader all(plain_, exact);
  Loader subset(some, exact);
  ASSERT_TRUE(subset.next().has_value());
  EXPECT_ERROR(all.restore(subset.state()), invalid_argument);
}

TEST_F(LoaderDatasetsTest, DamagedCompressedRecordIsNamed) {
  const Dataset zstd = write(dir_ / "zstd", pictures_, {.level = 3});
  const RecordLocation where = zstd.locate(5).record;
  std::fstream file(zstd.shard(0).path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(where.offset + where.stored_bytes / 2);
  file.put('\x55');
  file.close();
  LoaderOptions sequential = options();
  sequential.sampler.order = Order::sequential;
  Loader loader(zstd, sequential);
  EXPECT_ERROR(loader.next(), corrupt, .record = 5, .subject = sample);
}

// Records in the dct code load as those with the JPEGs do: the same order, and the same bytes in
// every batch.
TEST(LoaderDct, GivesTheBatchesOfTheJpegs) {
  const testing::TempDir dir;
  // Some are no pictures: the same records are replaced.
  const DatasetSpec spec{.num_records = 24, .width = 300, .height = 210, .undecodable = {5, 17}};
  DatasetSpec in_dct = spec;
  in_dct.dct = true;
  const Dataset jpegs = make_dataset(dir / "jpeg", spec);
  const Dataset codes = make_dataset(dir / "dct", in_dct);
  std::vector<std::byte> record;
  codes.read(0, record);
  ASSERT_EQ(detect_image_encoding(RecordView(codes.schema(), record).bytes(0)), ImageEncoding::dct);

  const RandomResizedCrop scaled{.size = 24, .scale_min = 0.4};
  const RandomResizedCrop exact{.size = 96, .scale_max = 0.3, .scaled_decode = false};
  for (const auto order : {Order::shuffle, Order::windowed}) {
    for (const auto& transform :
         std::vector<ImageTransform>{scaled, exact, ResizeCenterCrop{.resize = 64, .size = 56},
                                     RandomCrop{.size = 64, .padding = 4, .pad_if_needed = true}}) {
      LoaderOptions options;
      options.batch_size = 8;
      options.num_threads = 2;
      options.image.transform = transform;
      options.image.output = {.dtype = DType::u8, .normalize = false};
      options.image.augmentations = {ColorJitter{}};
      options.sampler.order = order;
      options.sampler.windows.window_block = 4;
      options.sampler.windows.window_blocks = 3;
      options.sampler.seed = 11;
      options.bad_samples = BadSamples::skip;
      Loader of_jpegs(jpegs, options);
      Loader of_codes(codes, options);
      EXPECT_EQ(collect_epoch(of_jpegs, 1), collect_epoch(of_codes, 1))
          << "transform " << transform.index();
    }
  }
}

}  // namespace
}  // namespace ffkit
