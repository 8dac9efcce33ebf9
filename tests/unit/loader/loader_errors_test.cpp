// What the loader does about bad samples and failing reads.
#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::collect;
using testing::collect_rest;

class LoaderErrorsTest : public ::testing::Test {
 protected:
  static LoaderOptions make_options(BadSamples bad_samples, int num_threads = 2) {
    LoaderOptions options;
    options.batch_size = 5;
    options.num_threads = num_threads;
    options.image.transform = ResizeCenterCrop{.resize = 20, .size = 16};
    options.image.output = {.dtype = DType::u8, .normalize = false};
    options.sampler = {.order = Order::sequential, .tail = Tail::even, .seed = 1};
    options.bad_samples = bad_samples;
    return options;
  }

  static void flip_byte(const Dataset& dataset, int64_t record_index) {
    const auto location = dataset.locate(record_index);
    testing::flip_bit(dataset.shard(location.shard_index).path(),
                      location.record.offset + location.record.stored_bytes / 2);
  }

  testing::TempDir dir_;
};

TEST_F(LoaderErrorsTest, FailNamesFileAndRecordInTheBatchOfTheSample) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  flip_byte(dataset, 17);  // shard 1 begins with record 13
  Loader loader(dataset, make_options(BadSamples::fail));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loader.next().has_value());
  EXPECT_ERROR(loader.next(), corrupt, .record = 4, .subject = sample);
  EXPECT_EQ(loader.state().position, 15);
  // Another epoch can be started, and fails at the same place.
  loader.set_epoch(1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loader.next().has_value());
  EXPECT_ERROR(loader.next(), corrupt, .record = 4, .subject = sample);
}

TEST_F(LoaderErrorsTest, FailReportsTheFirstOfSeveralInTheBatch) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_shards = 1, .undecodable = {8, 6, 9}});
  for (int round = 0; round < 10; ++round) {
    Loader loader(dataset, make_options(BadSamples::fail, 4));
    ASSERT_TRUE(loader.next().has_value());
    EXPECT_ERROR(loader.next(), unsupported, .record = 6, .subject = sample);
  }
}

TEST_F(LoaderErrorsTest, ChecksumsCanBeLeftOut) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  flip_byte(dataset, 17);
  LoaderOptions options = make_options(BadSamples::fail);
  options.io.verify_checksums = false;
  Loader loader(dataset, options);
  EXPECT_EQ(collect_rest(loader).size(), 8U) << "the flipped bit of a JPEG's data is not seen";
}

TEST_F(LoaderErrorsTest, SkipReplacesTheSameWayForAnyThreadsAndRanks) {
  const Dataset dataset = testing::make_dataset(dir_ / "train", {.undecodable = {3, 21}});
  flip_byte(dataset, 17);
  Loader reference(dataset, make_options(BadSamples::skip, 1));
  const auto expected = collect_rest(reference);
  ASSERT_EQ(expected.size(), 8U);
  EXPECT_EQ(reference.statistics().num_replaced, 3);
  const auto records = testing::records_of(expected);
  std::vector<int64_t> num_replaced;
  for (int64_t i = 0; i < 40; ++i) {
    const bool bad = i == 3 || i == 17 || i == 21;
    EXPECT_EQ(records[static_cast<size_t>(i)] != i, bad) << i;
  }
  for (const CollectedBatch& batch : expected) {
    num_replaced.push_back(batch.num_replaced);
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      EXPECT_EQ(batch.labels[i], testing::label_of(batch.record_indices[i]));
    }
  }
  EXPECT_EQ(num_replaced, (std::vector<int64_t>{1, 0, 0, 1, 1, 0, 0, 0}));

  for (int num_threads : {2, 4}) {
    Loader loader(dataset, make_options(BadSamples::skip, num_threads));
    EXPECT_EQ(collect_rest(loader), expected);
  }
  std::vector<int64_t> replacements;
  for (int rank = 0; rank < 2; ++rank) {
    LoaderOptions options = make_options(BadSamples::skip);
    options.batch_size = 20;
    options.sampler.rank = rank;
    options.sampler.world_size = 2;
    Loader loader(dataset, options);
    const auto part = testing::records_of(collect_rest(loader));
    replacements.insert(replacements.end(), part.begin(), part.end());
  }
  EXPECT_EQ(replacements, records);
  // Other epochs replace by other records.
  const auto other = testing::records_of(testing::collect_epoch(reference, 1));
  EXPECT_NE(other, records);
}

TEST_F(LoaderErrorsTest, SkipLooksLikeTheReplacementItself) {
  const Dataset dataset = testing::make_dataset(dir_ / "train", {.undecodable = {3}});
  Loader loader(dataset, make_options(BadSamples::skip));
  const auto batches = collect_rest(loader);
  const int64_t replacement = batches[0].record_indices[3];
  const size_t bytes = 3 * 16 * 16;
  const CollectedBatch& home = batches[static_cast<size_t>(replacement / 5)];
  const auto image = [&](const CollectedBatch& batch, int64_t position) {
    const auto begin = batch.images.begin() + position * static_cast<ptrdiff_t>(bytes);
    return std::vector<std::byte>(begin, begin + static_cast<ptrdiff_t>(bytes));
  };
  EXPECT_EQ(image(batches[0], 3), image(home, replacement % 5));
}

TEST_F(LoaderErrorsTest, SkipGivesUpWhereEverythingIsBad) {
  testing::DatasetSpec spec{.num_records = 10, .num_shards = 1};
  for (int64_t i = 0; i < 10; ++i) spec.undecodable.push_back(i);
  const Dataset dataset = testing::make_dataset(dir_ / "train", spec);
  Loader loader(dataset, make_options(BadSamples::skip));
  EXPECT_ERROR(loader.next(), corrupt, .record = 0);
}

TEST_F(LoaderErrorsTest, MissingLabelIsABadSample) {
  const Dataset dataset = testing::make_dataset(dir_ / "train", {.without_label = {2}});
  Loader failing(dataset, make_options(BadSamples::fail));
  EXPECT_ERROR(failing.next(), not_found, .record = 2, .subject = field);
  Loader skipping(dataset, make_options(BadSamples::skip));
  EXPECT_EQ(skipping.next()->replacements().size(), 1U);
}

// Which record is taken does not depend on what can be read: one in a file that was cut is not
// passed over.
TEST_F(LoaderErrorsTest, ReplacementFromAFileThatWasCutIsAnError) {
  const testing::DatasetSpec spec{.num_shards = 2, .undecodable = {3}};
  const Dataset whole = testing::make_dataset(dir_ / "whole", spec);
  const Dataset cut = testing::make_dataset(dir_ / "cut", spec);
  std::filesystem::resize_file(cut.shard(1).path(), 1000);
  int num_errors = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    LoaderOptions options = make_options(BadSamples::skip, 1);
    options.sampler.seed = seed;
    options.memory.prefetch_batches = 1;
    Loader expected(whole, options);
    const int64_t replacement = collect(*expected.next()).record_indices[3];
    Loader loader(cut, options);
    if (replacement < 20) {
      EXPECT_EQ(collect(*loader.next()).record_indices[3], replacement);
    } else {
      EXPECT_ERROR(loader.next(), io, .subject = shard);
      ++num_errors;
    }
  }
  EXPECT_GT(num_errors, 0);
}

// Where the bytes of a shard's index are: the page of its entries is the first one behind the
// records.
int64_t index_offset(const ShardReader& shard) {
  const RecordLocation last = shard.locate(shard.num_records() - 1);
  return (last.offset + last.stored_bytes + 4095) / 4096 * 4096;
}

// 13 records would be replaced, and nobody knew why.
TEST_F(LoaderErrorsTest, DamagedIndexIsAnErrorEvenWhenSkipping) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  const std::filesystem::path shard = dataset.shard(1).path();
  testing::flip_bit(shard, index_offset(ShardReader(shard)));
  for (const BadSamples bad_samples : {BadSamples::fail, BadSamples::skip}) {
    Loader loader(dataset, make_options(bad_samples));
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(loader.next().has_value());
    EXPECT_ERROR(loader.next(), corrupt, .subject = shard);
  }
}

// A replacement from such a shard neither.
TEST_F(LoaderErrorsTest, DamagedIndexIsNotPassedOverByReplacements) {
  const Dataset dataset =
      testing::make_dataset(dir_ / "train", {.num_shards = 2, .undecodable = {3}});
  const std::filesystem::path shard = dataset.shard(1).path();
  testing::flip_bit(shard, index_offset(ShardReader(shard)));
  int num_errors = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    LoaderOptions options = make_options(BadSamples::skip, 1);
    options.sampler.seed = seed;
    options.memory.prefetch_batches = 1;
    Loader loader(dataset, options);
    try {
      EXPECT_LT(collect(*loader.next()).record_indices[3], 20);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("shard-00001.ffr: offset "), std::string::npos);
      ++num_errors;
    }
  }
  EXPECT_GT(num_errors, 0);
}

// Broken at record 7, by an error of the user's own choice.
class OwnErrorDecoder final : public FieldDecoder {
 public:
  explicit OwnErrorDecoder(const Error& error) : error_(error) {}
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {1}; }
  void decode(const RecordView&, const SampleKey& key, Scratch*, void*) const override {
    if (key.record_index == 7) throw error_;
  }

 private:
  Error error_;
};

LoaderOptions with_own_error(LoaderOptions options, const Error& error) {
  options.fields.push_back({"own", std::make_shared<OwnErrorDecoder>(error)});
  options.on_warning = [](std::string_view) {};
  return options;
}

// A decoder may name the file that it reads beside the data set: one sample is bad then, and not
// the data set.
TEST_F(LoaderErrorsTest, DecodersMayNameFilesOfTheirOwn) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  for (const ErrorCode code :
       {ErrorCode::corrupt, ErrorCode::unsupported, ErrorCode::not_found, ErrorCode::io}) {
    for (const int64_t record : {-1, 3}) {
      const Error own(code, "the mask is broken",
                      {.path = "masks/7.png",
                       .record = record,
                       .errno_value = code == ErrorCode::io ? EIO : 0});
      Loader skipping(dataset, with_own_error(make_options(BadSamples::skip), own));
      EXPECT_EQ(collect_rest(skipping).size(), 8U) << to_string(code);
      EXPECT_EQ(skipping.statistics().num_replaced, 1) << to_string(code);

      Loader failing(dataset, with_own_error(make_options(BadSamples::fail), own));
      try {
        collect_rest(failing);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code);
        EXPECT_EQ(error.context().path, "masks/7.png");
        EXPECT_EQ(error.context().record, record);
        EXPECT_EQ(error.context().subject, ErrorSubject::sample);
        EXPECT_EQ(error.context().errno_value, own.context().errno_value);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("shard-00000.ffr: record 7: "));
        EXPECT_THAT(error.what(), ::testing::HasSubstr("masks/7.png: "));
      }
    }
  }
}

// A decoder that reads another data set, as those of sweeps do, says what of it is damaged.
TEST_F(LoaderErrorsTest, DamageOfAShardThatADecoderReadsIsNoBadSample) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  for (const ErrorSubject subject : {ErrorSubject::shard, ErrorSubject::dataset}) {
    const Error damage(ErrorCode::corrupt, "the index is damaged",
                       {.path = "sweeps/shard-00000.ffr", .subject = subject});
    Loader loader(dataset, with_own_error(make_options(BadSamples::skip), damage));
    EXPECT_ERROR(collect_rest(loader), corrupt);
    EXPECT_EQ(loader.statistics().num_replaced, 0);
  }
}

// What the errors of the data set are about.
TEST_F(LoaderErrorsTest, ErrorsOfTheDataSetSayWhatTheyAreAbout) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  flip_byte(dataset, 3);
  const std::filesystem::path shard = dataset.shard(1).path();
  testing::flip_bit(shard, index_offset(ShardReader(shard)));
  const auto about = [&](BadSamples bad_samples) {
    Loader loader(dataset, make_options(bad_samples));
    try {
      collect_rest(loader);
    } catch (const Error& error) {
      return error.context();
    }
    return ErrorContext{};
  };
  const ErrorContext of_record = about(BadSamples::fail);
  EXPECT_EQ(of_record.subject, ErrorSubject::sample);
  EXPECT_EQ(of_record.record, 3);
  const ErrorContext of_shard = about(BadSamples::skip);
  EXPECT_EQ(of_shard.subject, ErrorSubject::shard);
  EXPECT_EQ(of_shard.path, shard.string());
}

struct FileAccess {
  IoEngine engine;
  DirectIo direct;
  bool decoders_read_cache = false;
};

std::string name_of_access(const ::testing::TestParamInfo<FileAccess>& info) {
  return std::string(info.param.engine == IoEngine::pread ? "pread" : "automatic") +
         (info.param.direct == DirectIo::off ? "_buffered" : "_direct") +
         (info.param.decoders_read_cache ? "_by_decoders" : "");
}

// Files that change under the loader, however they are read.
class LoaderFilesTest : public LoaderErrorsTest, public ::testing::WithParamInterface<FileAccess> {
 protected:
  // Makes a loader over one shard whose index is in memory, or is not, or skips the test.
  void open(BadSamples bad_samples, const std::filesystem::path& folder, bool has_index = true) {
    dataset_.emplace(testing::make_dataset(folder, {.num_shards = 1}));
    for (int64_t i = 0; i < 40 && has_index; ++i) static_cast<void>(dataset_->locate(i));
    options_ = make_options(bad_samples);
    options_.io.engine = GetParam().engine;
    options_.io.direct = GetParam().direct;
    options_.io.decoders_read_cache = GetParam().decoders_read_cache;
    options_.memory.prefetch_batches = 1;
    try {
      loader_.emplace(*dataset_, options_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }
  std::filesystem::path shard() const { return dataset_->shard(0).path(); }

  LoaderOptions options_;
  std::optional<Dataset> dataset_;
  std::optional<Loader> loader_;
};

TEST_P(LoaderFilesTest, FileCutWhileInUseIsAnIoErrorEvenWhenSkipping) {
  open(BadSamples::skip, dir_ / "train");
  if (IsSkipped()) return;
  std::filesystem::resize_file(shard(),
                               static_cast<uintmax_t>(dataset_->locate(22).record.offset + 100));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(loader_->next().has_value());
  EXPECT_ERROR(loader_->next(), io, .record = 22, .subject = shard);
  // Nothing of it is left: an error too, and not a wait for bytes that never come.
  std::filesystem::resize_file(shard(), 0);
  loader_->set_epoch(1);
  EXPECT_ERROR(loader_->next(), io, .record = 0, .subject = shard);
}

TEST_P(LoaderFilesTest, FileCutBeforeItsIndexWasReadIsAnIoErrorEvenWhenSkipping) {
  open(BadSamples::skip, dir_ / "train", false);
  if (IsSkipped()) return;
  std::filesystem::resize_file(shard(), std::filesystem::file_size(shard()) / 2);
  EXPECT_ERROR(loader_->next(), io, .subject = shard);
}

TEST_P(LoaderFilesTest, FileOverwrittenWhileInUseIsNoticed) {
  open(BadSamples::fail, dir_ / "train");
  if (IsSkipped()) return;
  ASSERT_EQ(collect_rest(*loader_).size(), 8U);
  const auto where = dataset_->locate(22).record;
  std::fstream file(shard(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(where.offset);
  file << std::string(static_cast<size_t>(where.stored_bytes), 'x');
  file.close();
  loader_->set_epoch(1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(loader_->next().has_value());
  EXPECT_ERROR(loader_->next(), corrupt, .record = 22, .subject = sample);
}

// As the converter and most other tools write: the loader goes on with the file that it opened.
TEST_P(LoaderFilesTest, FileReplacedByAnotherIsReadOnAsItWas) {
  open(BadSamples::fail, dir_ / "train");
  if (IsSkipped()) return;
  const auto expected = collect_rest(*loader_);
  std::ofstream(dir_ / "other") << std::string(1 << 20, 'x');
  std::filesystem::rename(dir_ / "other", shard());
  loader_->set_epoch(0);
  EXPECT_EQ(collect_rest(*loader_), expected);
  std::filesystem::remove(shard());
  loader_->set_epoch(0);
  EXPECT_EQ(collect_rest(*loader_), expected);
}

// The index and the records are those of one file.
TEST_P(LoaderFilesTest, FileReplacedBeforeTheLoaderIsMadeIsReadAsItWas) {
  open(BadSamples::fail, dir_ / "train");
  if (IsSkipped()) return;
  const auto expected = collect_rest(*loader_);
  std::ofstream(dir_ / "other") << std::string(1 << 20, 'x');
  std::filesystem::rename(dir_ / "other", shard());
  loader_.emplace(*dataset_, options_);
  EXPECT_EQ(collect_rest(*loader_), expected);
}

// tmpfs takes O_DIRECT since Linux 6.6 only, and other memory has other alignments.
TEST_P(LoaderFilesTest, SharedMemoryGivesTheSameBatches) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  open(BadSamples::fail, dir_ / "train");
  if (IsSkipped()) return;
  const auto expected = collect_rest(*loader_);
  std::string folder = "/dev/shm/ffkit-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path made(folder);
  open(BadSamples::fail, made / "train");
  if (!IsSkipped()) {
    EXPECT_EQ(collect_rest(*loader_), expected);
  }
  loader_.reset();
  std::filesystem::remove_all(made);
}

INSTANTIATE_TEST_SUITE_P(Engines, LoaderFilesTest,
                         ::testing::Values(FileAccess{IoEngine::automatic, DirectIo::off},
                                           FileAccess{IoEngine::automatic, DirectIo::on},
                                           FileAccess{IoEngine::pread, DirectIo::off},
                                           FileAccess{IoEngine::pread, DirectIo::on},
                                           FileAccess{IoEngine::automatic, DirectIo::off, true}),
                         name_of_access);

}  // namespace
}  // namespace ffkit
