// The steps from a decoded sample to a complete batch, one thread at a time.
#include "decode/chunk_decoder.h"

#include "batch/batch_queue.h"
#include "batch/slab_pool.h"
#include "io/shard_files.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

// Record r has r rows, all of them r. Record 3 is bad.
class AsManyRows final : public RowsDecoder {
 public:
  AsManyRows(RowLayout layout, std::function<void(int64_t)> looks)
      : layout_(layout), looks_(std::move(looks)) {}
  RowLayout layout() const override { return layout_; }
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }
  int64_t max_rows() const override { return 4; }
  int64_t decode_rows(const RecordView& record, const SampleKey&, Scratch*,
                      void* out) const override {
    const auto number = record.scalar<int64_t>(0);
    looks_(number);
    if (number == 3) throw Error(ErrorCode::corrupt, "record 3 is bad");
    for (int64_t k = 0; k < number; ++k) static_cast<int64_t*>(out)[k] = number;
    return number;
  }

 private:
  RowLayout layout_;
  std::function<void(int64_t)> looks_;
};

class Nobody final : public Helpers {
 public:
  void share(int worker, int64_t count, const Piece& piece) override {
    for (int64_t i = 0; i < count; ++i) piece(worker, i);
  }
};

class ChunkDecoderTest : public ::testing::Test {
 protected:
  ChunkDecoderTest() {
    const Schema schema{{{.name = "n", .type = FieldType::scalar, .dtype = DType::i64}}};
    DatasetWriter writer(dir_ / "data", {.split = "train", .schema = schema});
    RecordBuilder builder(schema);
    for (int64_t i = 0; i < 4; ++i) {
      builder.set_scalar<int64_t>(0, i);
      builder.encode(records_.emplace_back());
      writer.append(records_.back());
    }
    writer.finish();
    dataset_.emplace(Dataset::open(dir_ / "data"));
    options_.num_threads = 2;
    options_.batch_size = 3;
    options_.image_field = "";
    const auto looks = [this](int64_t record) { look(record); };
    const std::vector<BatchField> fields = {
        {"rows", std::make_shared<AsManyRows>(RowLayout::ragged, looks)},
        {"padded", std::make_shared<AsManyRows>(RowLayout::padded, looks)}};
    slabs_ =
        std::make_shared<SlabPool>(default_slab_allocator(), 2, 3, make_slab_layout(fields, 3));
    sampler_.emplace(dataset_->num_records(), 3, options_.sampler);
    files_.emplace(*dataset_, 1, DirectIo::off);
    cached_reader_.emplace(*files_, options_.io, stats_);
    field_reads_.emplace(*dataset_, *files_, std::nullopt);
    samples_.emplace(*dataset_, options_, *sampler_, fields, slabs_->layout(), *cached_reader_,
                     *field_reads_, stats_);
    mixer_.emplace(options_, slabs_->layout());
    chunks_.emplace(ChunkDecoder::Uses{.samples = *samples_,
                                       .buffers = buffers_,
                                       .io_wake = io_wake_,
                                       .layout = slabs_->layout(),
                                       .mixer = *mixer_,
                                       .watch = watch_,
                                       .first_entry = 1,
                                       .stats = stats_});
  }

  // As the I/O thread does it: all samples in one buffer of the ring.
  PendingBatch* open_batch(std::vector<int64_t> record_indices) {
    PendingBatch* batch = queue_.open();
    const auto count = std::ssize(record_indices);
    batch->slab = slabs_->acquire();
    batch->slab->size = count;
    batch->slab->record_indices = std::move(record_indices);
    batch->slab->begin_rows(count);
    batch->num_left = count;
    ReadBufferPool::Buffer* buffer = buffers_.acquire(64 << 10, static_cast<int>(count));
    batch->samples.assign(static_cast<size_t>(count), {});
    for (size_t i = 0; i < batch->samples.size(); ++i) {
      const int64_t record = batch->slab->record_indices[i];
      batch->samples[i].record = records_[static_cast<size_t>(record)];
      batch->samples[i].location = dataset_->locate(record);
      batch->samples[i].buffer = buffer;
    }
    return batch;
  }
  bool front_is_complete() const { return queue_.front_is_complete(); }
  // Called while a record is decoded.
  void look(int64_t record) {
    const auto watched = watch_.oldest();
    ASSERT_TRUE(watched);
    EXPECT_EQ(watched->record_index, record);
    EXPECT_FALSE(front_is_complete());
  }

  testing::TempDir dir_;
  std::vector<std::vector<std::byte>> records_;
  std::optional<Dataset> dataset_;
  LoaderOptions options_;
  StatsCounters stats_;
  ReadWatch watch_{3};
  Event io_wake_;
  ReadBufferPool buffers_{64 << 10, 8, 1};  // room for one batch's buffer
  BatchQueue queue_{2, 3};
  std::shared_ptr<SlabPool> slabs_;
  std::optional<Sampler> sampler_;
  std::optional<ShardFiles> files_;
  std::optional<CachedReader> cached_reader_;
  std::optional<FieldReads> field_reads_;
  std::optional<SampleDecoder> samples_;
  std::optional<BatchMixer> mixer_;
  std::optional<ChunkDecoder> chunks_;
  Nobody nobody_;
};

TEST_F(ChunkDecoderTest, LastChunkOfABatchCompletesIt) {
  PendingBatch* batch = open_batch({2, 0, 1});
  EXPECT_EQ(buffers_.acquire(1, 1), nullptr) << "the ring is full";
  chunks_->decode(1, nobody_, {.batch = batch, .count = 2, .indices_in_batch = {0, 2}});
  EXPECT_FALSE(front_is_complete());
  EXPECT_EQ(buffers_.acquire(1, 1), nullptr) << "a sample still uses the buffer";
  EXPECT_FALSE(watch_.oldest()) << "nothing continues";
  const auto& offsets = batch->slab->row_offsets[0];
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 2, 0, 1})) << "numbers of rows, not yet joined";
  chunks_->decode(0, nobody_, {.batch = batch, .count = 1, .indices_in_batch = {1}});
  EXPECT_TRUE(front_is_complete());
  ASSERT_NE(buffers_.acquire(1, 1), nullptr);
  io_wake_.wait();  // it was told of the room that acquire() asked for
  BatchSlab* slab = queue_.take_front();
  EXPECT_EQ(slab->row_offsets[0], (std::vector<int64_t>{0, 2, 2, 3}));
  const auto* rows = reinterpret_cast<const int64_t*>(slab->memory);
  EXPECT_EQ(std::vector<int64_t>(rows, rows + 3), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_GT(stats_.busy_ns, 0);
  slabs_->discard(slab);
}

// The sample behind is there already.
TEST_F(ChunkDecoderTest, ZerosBehindPaddedRowsEndWithTheirSample) {
  PendingBatch* batch = open_batch({2, 1});
  const SlabField& padded = slabs_->layout().fields[1];
  auto* rows = reinterpret_cast<int64_t*>(batch->slab->memory + padded.offset);
  std::fill(rows, rows + 9, -1);
  chunks_->decode(0, nobody_, {.batch = batch, .count = 2, .indices_in_batch = {1, 0}});
  EXPECT_EQ(std::vector<int64_t>(rows, rows + 9),
            (std::vector<int64_t>{2, 2, 0, 0, 1, 0, 0, 0, -1}));
  slabs_->discard(queue_.take_front());
}

TEST_F(ChunkDecoderTest, BadSampleFailsTheBatchButFinishesItAndFreesItsBuffer) {
  PendingBatch* batch = open_batch({1, 3});
  EXPECT_EQ(buffers_.acquire(1, 1), nullptr);
  chunks_->decode(0, nobody_, {.batch = batch, .count = 2, .indices_in_batch = {0, 1}});
  EXPECT_TRUE(front_is_complete());
  io_wake_.wait();
  EXPECT_ERROR(queue_.take_front(), corrupt, .record = 3, .subject = sample);
  slabs_->discard(queue_.close_all().front());
}

}  // namespace
}  // namespace ffkit
