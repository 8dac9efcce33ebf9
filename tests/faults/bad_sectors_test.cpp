// The loader on a disk with bad sectors: reads that touch them fail with EIO; and on a file system
// that opens files with O_DIRECT and refuses to read them so.
#include <sys/uio.h>

#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "faults/system_calls.h"
#include "make_dataset.h"
#include "test_images.h"
#include "test_prelude.h"

namespace {

// Of any file. Only the one shard is read at such offsets.
std::atomic<int64_t> bad_begin{0};
std::atomic<int64_t> bad_end{0};
std::atomic<int64_t> num_failures_left{0};
std::atomic<int64_t> num_failures{0};
std::atomic<bool> refuses_direct_reads{false};

bool fails(off_t offset, size_t num_bytes) {
  if (offset >= bad_end || offset + static_cast<int64_t>(num_bytes) <= bad_begin) return false;
  if (num_failures_left.fetch_sub(1) <= 0) return false;
  ++num_failures;
  errno = EIO;
  return true;
}

ssize_t pread_of_bad_disk(int fd, void* data, size_t num_bytes, off_t offset) {
  if (refuses_direct_reads && (fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
    ++num_failures;
    errno = EINVAL;
    return -1;
  }
  return fails(offset, num_bytes) ? -1
                                  : ffkit::testing::real_calls.pread(fd, data, num_bytes, offset);
}
ssize_t preadv2_of_bad_disk(int fd, const iovec* data, int count, off_t offset, int flags) {
  return fails(offset, data->iov_len)
             ? -1
             : ffkit::testing::real_calls.preadv2(fd, data, count, offset, flags);
}

}  // namespace

namespace ffkit {
namespace {

constexpr int64_t kBad = 17;
constexpr int64_t kForever = int64_t{1} << 40;

class BadSectorsTest : public ::testing::Test {
 protected:
  // Record kBad cannot be read `times` times.
  void damage(int64_t times) {
    const RecordLocation where = dataset_.locate(kBad).record;
    bad_begin = where.offset + 100;
    bad_end = where.offset + 101;
    num_failures = 0;
    num_failures_left = times;
  }
  void TearDown() override { bad_end = 0; }

  static LoaderOptions options(BadSamples bad_samples) {
    LoaderOptions out;
    out.batch_size = 5;
    out.num_threads = 2;
    out.image.transform = ResizeCenterCrop{.resize = 20, .size = 16};
    out.sampler = {.order = Order::sequential, .tail = Tail::even, .seed = 1};
    out.bad_samples = bad_samples;
    out.io.engine = IoEngine::pread;
    out.io.direct = DirectIo::off;
    out.io.decoders_read_cache = false;
    return out;
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::pread> pread_{pread_of_bad_disk};
  ffkit::testing::Replaced<&ffkit::testing::Calls::preadv2> preadv2_{preadv2_of_bad_disk};
  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_shards = 1});
};

TEST_F(BadSectorsTest, FailNamesTheRecord) {
  damage(kForever);
  Loader loader(dataset_, options(BadSamples::fail));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loader.next().has_value());
  EXPECT_ERROR(loader.next(), io, .record = 17, .subject = sample);
}

TEST_F(BadSectorsTest, DirectIoThatIsOpenedAndNotReadIsRefusedAndClosed) {
  LoaderOptions direct = options(BadSamples::fail);
  direct.io.direct = DirectIo::on;
  num_failures = 0;
  refuses_direct_reads = true;
  EXPECT_ERROR(Loader(dataset_, direct), unsupported);  // UBSan opens a pipe for its first error
  const int64_t num_files = testing::count_entries("/proc/self/fd");
  EXPECT_ERROR(Loader(dataset_, direct), unsupported);
  refuses_direct_reads = false;
  EXPECT_EQ(testing::count_entries("/proc/self/fd"), num_files);
  if (num_failures == 0) GTEST_SKIP() << "the file system has no O_DIRECT";
}

TEST_F(BadSectorsTest, ReadsAreRepeatedBeforeTheyCount) {
  Loader whole(dataset_, options(BadSamples::fail));
  const auto expected = testing::collect_epoch(whole, 0);
  damage(3);  // io.num_retries is 3, and one try without the threads comes first
  Loader loader(dataset_, options(BadSamples::fail));
  EXPECT_EQ(testing::collect_epoch(loader, 0), expected);
  EXPECT_EQ(num_failures, 3);
}

TEST_F(BadSectorsTest, SkipReplacesTheRecordAloneAlthoughItsNeighboursShareTheRead) {
  Loader whole(dataset_, options(BadSamples::fail));
  const auto expected = testing::records_of(testing::collect_epoch(whole, 0));
  ASSERT_LT(whole.statistics().num_reads, 40) << "neighbours share reads";
  damage(kForever);
  Loader loader(dataset_, options(BadSamples::skip));
  const auto found = testing::records_of(testing::collect_epoch(loader, 0));
  EXPECT_GT(num_failures, 3);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i] == expected[i], i != kBad) << i;
  EXPECT_EQ(loader.statistics().num_replaced, 1);

  // By the same record on any rank layout.
  LoaderOptions other = options(BadSamples::skip);
  other.batch_size = 20;
  other.sampler.world_size = 2;
  Loader rank0(dataset_, other);
  EXPECT_EQ(testing::records_of(testing::collect_epoch(rank0, 0))[kBad], found[kBad]);
}

TEST_F(BadSectorsTest, ARecordThatCanBeReadAloneIsNotReplaced) {
  damage(5);  // the shared read: at first, and io.num_retries times; the record alone: well
  Loader loader(dataset_, options(BadSamples::skip));
  testing::collect_epoch(loader, 0);
  EXPECT_EQ(loader.statistics().num_replaced, 0);
  EXPECT_GE(num_failures, 4);
}

TEST_F(BadSectorsTest, APageOfTheIndexIsNoBadSample) {
  const RecordLocation last =
      Dataset::open(dataset_.path()).locate(dataset_.num_records() - 1).record;
  num_failures = 0;
  num_failures_left = kForever;
  bad_begin = last.offset + last.stored_bytes;
  bad_end = kForever;
  for (const bool decoders_read : {false, true}) {
    LoaderOptions skipping = options(BadSamples::skip);
    skipping.io.decoders_read_cache = decoders_read;
    Loader loader(dataset_, skipping);
    EXPECT_ERROR(loader.next(), io, .subject = shard);
    EXPECT_EQ(loader.statistics().num_replaced, 0);
  }
  EXPECT_GT(num_failures, 0);
}

// All records of the shard are under it.
TEST_F(BadSectorsTest, AZstdDictionaryIsNoBadSample) {
  testing::DatasetSpec spec{.num_shards = 1, .padding_bytes = 2000};
  std::vector<std::vector<std::byte>> samples;
  for (int64_t i = 0; i < spec.num_records; ++i) {
    samples.push_back(testing::make_record(dataset_.schema(), spec, i));
  }
  spec.compression = {.level = 3, .dictionary = train_dictionary(samples, 4096)};
  const Dataset written = testing::make_dataset(dir_ / "dictionary", spec);
  const std::vector<std::byte> shard = testing::read_bytes(written.shard(0).path());
  const auto place = std::ranges::search(shard, std::span(spec.compression.dictionary).first(100));
  ASSERT_FALSE(place.empty());
  for (const bool decoders_read : {false, true}) {
    const Dataset dataset = Dataset::open(written.path());  // a dictionary is read once
    num_failures = 0;
    num_failures_left = kForever;
    bad_begin = place.begin() - shard.begin();
    bad_end = bad_begin + 100;
    LoaderOptions skipping = options(BadSamples::skip);
    skipping.io.decoders_read_cache = decoders_read;
    Loader loader(dataset, skipping);
    EXPECT_ERROR(testing::collect_epoch(loader, 0), io, .subject = shard);
    EXPECT_EQ(loader.statistics().num_replaced, 0);
    EXPECT_GT(num_failures, 0);
    bad_end = 0;
  }
}

TEST_F(BadSectorsTest, DecodersThatReadForThemselvesGoOnTheSameWay) {
  LoaderOptions reading = options(BadSamples::skip);
  reading.io.decoders_read_cache = true;
  damage(4);  // no retry helps, but then the sector is well again
  Loader transient(dataset_, reading);
  testing::collect_epoch(transient, 0);
  EXPECT_EQ(transient.statistics().num_replaced, 1);
  damage(3);
  Loader retried(dataset_, reading);
  testing::collect_epoch(retried, 0);
  EXPECT_EQ(retried.statistics().num_replaced, 0);
  reading.bad_samples = BadSamples::fail;
  damage(kForever);
  Loader failing(dataset_, reading);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(failing.next().has_value());
  EXPECT_ERROR(failing.next(), io, .record = 17, .subject = sample);
}

}  // namespace
}  // namespace ffkit
