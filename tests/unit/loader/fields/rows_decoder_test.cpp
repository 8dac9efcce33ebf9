// Fields of any number of rows, ragged and padded.
#include "loader_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kNumPairs = 24;
constexpr int64_t kMaxRows = 6;

int64_t rows_of(int64_t record) {
  return record * 5 % (kMaxRows + 1);  // 0 too
}

// Row k of record r is {r, k}.
class PairRows final : public RowsDecoder {
 public:
  PairRows(RowLayout layout, std::shared_ptr<std::vector<std::atomic<int>>> announced = nullptr)
      : layout_(layout), announced_(std::move(announced)) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {2}; }
  int64_t max_rows() const override { return kMaxRows; }
  RowLayout layout() const override { return layout_; }
  void will_read(int64_t record_index) const noexcept override {
    if (announced_ != nullptr) ++(*announced_)[static_cast<size_t>(record_index)];
  }
  int64_t decode_rows(const RecordView& record, const SampleKey&, Scratch*,
                      void* out) const override {
    const auto number = record.scalar<int64_t>(0);
    auto* to = static_cast<int64_t*>(out);
    for (int64_t k = 0; k < rows_of(number); ++k) {
      *to++ = number;
      *to++ = k;
    }
    return rows_of(number);
  }

 private:
  RowLayout layout_;
  std::shared_ptr<std::vector<std::atomic<int>>> announced_;
};

class RowsDecoderTest : public ::testing::Test {
 protected:
  RowsDecoderTest() { dataset_.emplace(testing::make_numbers(dir_ / "data", kNumPairs)); }
  LoaderOptions options() {
    LoaderOptions out;
    out.batch_size = 5;
    out.num_threads = 3;
    out.sampler = {.tail = Tail::even, .seed = 4};
    out.image_field = "";
    out.label_field = "n";
    out.fields = {{"ragged", std::make_shared<PairRows>(RowLayout::ragged)},
                  {"padded", std::make_shared<PairRows>(RowLayout::padded)}};
    return out;
  }
  testing::TempDir dir_;
  std::optional<Dataset> dataset_;
};

TEST_F(RowsDecoderTest, RaggedRowsFollowEachOther) {
  Loader loader(*dataset_, options());
  int64_t num_samples = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {  // slabs are used again
    loader.set_epoch(epoch);
    while (const auto batch = loader.next()) {
      const BatchArray ragged = batch->field("ragged");
      const auto offsets = batch->row_offsets("ragged");
      ASSERT_EQ(std::ssize(offsets), batch->size() + 1);
      EXPECT_EQ(offsets.front(), 0);
      EXPECT_EQ(std::vector<int64_t>(ragged.shape.begin(), ragged.shape.end()),
                (std::vector<int64_t>{offsets.back(), 2}));
      const auto* values = static_cast<const int64_t*>(ragged.data);
      for (int64_t i = 0; i < batch->size(); ++i) {
        const auto at = static_cast<size_t>(i);
        const int64_t record = batch->record_indices()[at];
        ASSERT_EQ(offsets[at + 1] - offsets[at], rows_of(record));
        for (int64_t k = 0; k < rows_of(record); ++k) {
          EXPECT_EQ(values[2 * (offsets[at] + k)], record);
          EXPECT_EQ(values[2 * (offsets[at] + k) + 1], k);
        }
      }
      num_samples += batch->size();
    }
  }
  EXPECT_EQ(num_samples, 3 * kNumPairs);
}

TEST_F(RowsDecoderTest, PaddedRowsAreFollowedByZeros) {
  Loader loader(*dataset_, options());
  for (int epoch = 0; epoch < 3; ++epoch) {
    loader.set_epoch(epoch);
    while (const auto batch = loader.next()) {
      const BatchArray padded = batch->field("padded");
      EXPECT_EQ(std::vector<int64_t>(padded.shape.begin(), padded.shape.end()),
                (std::vector<int64_t>{batch->size(), kMaxRows, 2}));
      const auto offsets = batch->row_offsets("padded");
      const auto* values = static_cast<const int64_t*>(padded.data);
      for (int64_t i = 0; i < batch->size(); ++i) {
        const auto at = static_cast<size_t>(i);
        const int64_t record = batch->record_indices()[at];
        ASSERT_EQ(offsets[at + 1] - offsets[at], rows_of(record));
        for (int64_t k = 0; k < kMaxRows; ++k) {
          const bool is_row = k < rows_of(record);
          EXPECT_EQ(values[2 * (i * kMaxRows + k)], is_row ? record : 0);
          EXPECT_EQ(values[2 * (i * kMaxRows + k) + 1], is_row ? k : 0);
        }
      }
    }
  }
}

TEST_F(RowsDecoderTest, BatchesAreTheSameForAnyThreads) {
  LoaderOptions with = options();
  Loader reference(*dataset_, with);
  const auto expected = testing::collect_epoch(reference, 1);
  with.num_threads = 1;
  Loader loader(*dataset_, with);
  EXPECT_EQ(testing::collect_epoch(loader, 1), expected);
}

TEST_F(RowsDecoderTest, FieldsWithoutRowsHaveNoOffsets) {
  Loader loader(*dataset_, options());
  const auto batch = loader.next();
  EXPECT_ERROR(batch->row_offsets("n"), not_found, .subject = field);
  EXPECT_ERROR(batch->row_offsets("m"), not_found, .subject = field);
}

TEST_F(RowsDecoderTest, EveryRecordIsAnnouncedBeforeItIsRead) {
  auto announced = std::make_shared<std::vector<std::atomic<int>>>(kNumPairs);
  LoaderOptions with = options();
  with.fields = {{"rows", std::make_shared<PairRows>(RowLayout::ragged, announced)}};
  with.io.read_ahead_epochs = false;
  // Of a subset the numbers in the whole split.
  Loader loader(dataset_->subset({20, 21, 3}), with);
  testing::collect_epoch(loader, 0);
  for (size_t i = 0; i < kNumPairs; ++i) {
    EXPECT_EQ((*announced)[i], i == 20 || i == 21 || i == 3 ? 1 : 0) << i;
  }
}

// Writes nothing and says anything.
class WrongCount final : public RowsDecoder {
 public:
  WrongCount(RowLayout layout, int64_t count) : layout_(layout), count_(count) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {2}; }
  int64_t max_rows() const override { return 8; }
  RowLayout layout() const override { return layout_; }
  int64_t decode_rows(const RecordView& record, const SampleKey&, Scratch*, void*) const override {
    return record.scalar<int64_t>(0) == 3 ? count_ : 0;
  }

 private:
  RowLayout layout_;
  int64_t count_;
};

TEST_F(RowsDecoderTest, WrongNumberOfRowsEndsTheEpochAndIsNamed) {
  for (const RowLayout layout : {RowLayout::ragged, RowLayout::padded}) {
    for (const int64_t count : {int64_t{9}, int64_t{100}, int64_t{-1}}) {
      LoaderOptions wrong = options();
      wrong.sampler.order = Order::sequential;
      wrong.bad_samples = BadSamples::skip;
      wrong.fields = {{"boxes", std::make_shared<WrongCount>(layout, count)}};
      Loader loader(*dataset_, wrong);
      EXPECT_ERROR(loader.next(), invalid_argument, .record = 3, .subject = sample);
    }
  }
  // Called without a loader, too.
  std::vector<std::byte> bytes;
  dataset_->read(3, bytes);
  std::vector<int64_t> out(16);
  EXPECT_ERROR(WrongCount(RowLayout::padded, 9)
                   .decode(RecordView(dataset_->schema(), bytes), {}, nullptr, out.data()),
               invalid_argument);
}

}  // namespace
}  // namespace ffkit
