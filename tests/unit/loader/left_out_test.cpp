// Where each record counts once, a bad one is left out instead of being replaced.
#include "loader_prelude.h"

namespace ffkit {
namespace {

bool is_bad_number(int64_t n) {
  return n == 2 || (n >= 8 && n < 12) || n == 13;
}

int64_t rows_of_number(int64_t n) {
  return n % 3;
}

// Row k of record n is n.
class NumberRows final : public RowsDecoder {
 public:
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }
  int64_t max_rows() const override { return 2; }
  RowLayout layout() const override { return RowLayout::ragged; }
  int64_t decode_rows(const RecordView& record, const SampleKey&, Scratch*,
                      void* out) const override {
    const auto n = record.scalar<int64_t>(0);
    std::fill_n(static_cast<int64_t*>(out), rows_of_number(n), n);
    return rows_of_number(n);
  }
};

class NumberText final : public TextDecoder {
 public:
  std::string_view decode_text(const RecordView& record, const SampleKey&,
                               Scratch*) const override {
    static const std::string kLetters = "abcdefghijklmnopqrst";
    const auto n = record.scalar<int64_t>(0);
    if (is_bad_number(n)) throw Error(ErrorCode::corrupt, "is bad");
    return std::string_view(kLetters).substr(0, static_cast<size_t>(n));
  }
};

class LeftOutTest : public ::testing::TestWithParam<Tail> {
 protected:
  LoaderOptions options(int rank = 0, int world_size = 1) const {
    LoaderOptions out;
    out.batch_size = 4;
    out.num_threads = 2;
    out.image_field = "";
    out.label_field = "n";
    out.fields = {{"rows", std::make_shared<NumberRows>()},
                  {"text", std::make_shared<NumberText>()}};
    out.sampler = {
        .order = Order::sequential, .tail = GetParam(), .rank = rank, .world_size = world_size};
    out.bad_samples = BadSamples::skip;
    return out;
  }

  testing::TempDir dir_;
  const Dataset dataset_ = testing::make_numbers(dir_ / "data", 18);
};

INSTANTIATE_TEST_SUITE_P(Tails, LeftOutTest, ::testing::Values(Tail::exact, Tail::balanced));

TEST_P(LeftOutTest, TheOthersAreThereOnceAndBatchesStay) {
  Loader loader(dataset_, options());
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.set_epoch(epoch);
    std::vector<int64_t> seen, bad, sizes;
    while (const std::optional<Batch> batch = loader.next()) {
      EXPECT_TRUE(batch->replacements().empty());
      sizes.push_back(batch->size());
      for (const LeftOut& one : batch->left_out()) bad.push_back(one.bad_record);
      const auto records = batch->record_indices(), labels = batch->labels();
      ASSERT_EQ(std::ssize(labels), batch->size());
      ASSERT_EQ(std::ssize(batch->source()), batch->size());
      const std::vector<std::string_view> texts = batch->strings("text");
      const auto offsets = batch->row_offsets("rows");
      ASSERT_EQ(std::ssize(offsets), batch->size() + 1);
      const auto* rows = static_cast<const int64_t*>(batch->field("rows").data);
      EXPECT_EQ(batch->field("rows").shape[0], offsets.back());
      for (size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(labels[i], records[i]);
        EXPECT_EQ(std::ssize(texts[i]), records[i]);
        ASSERT_EQ(offsets[i + 1] - offsets[i], rows_of_number(records[i]));
        for (int64_t k = offsets[i]; k < offsets[i + 1]; ++k) EXPECT_EQ(rows[k], records[i]);
        seen.push_back(records[i]);
      }
      const Batch copy = batch->copy();
      EXPECT_EQ(copy.left_out().size(), batch->left_out().size());
    }
    EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 3, 4, 5, 6, 7, 12, 14, 15, 16, 17}));
    EXPECT_EQ(bad, (std::vector<int64_t>{2, 8, 9, 10, 11, 13}));
    EXPECT_EQ(sizes, (std::vector<int64_t>{3, 4, 0, 3, 2}));
    EXPECT_EQ(std::ssize(sizes), loader.num_batches());
  }
  EXPECT_EQ(loader.statistics().num_left_out, 12);
  EXPECT_EQ(loader.statistics().num_replaced, 0);
  EXPECT_THAT(to_string(loader.statistics()), HasSubstr("0 replaced, 12 left out, "));
}

TEST_P(LeftOutTest, RanksShareTheOthers) {
  std::vector<int64_t> seen;
  for (int rank = 0; rank < 2; ++rank) {
    Loader loader(dataset_, options(rank, 2));
    int64_t num_batches = 0;
    for (; const std::optional<Batch> batch = loader.next(); ++num_batches) {
      seen.insert(seen.end(), batch->record_indices().begin(), batch->record_indices().end());
    }
    EXPECT_EQ(num_batches, loader.num_batches());
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 3, 4, 5, 6, 7, 12, 14, 15, 16, 17}));
}

TEST_P(LeftOutTest, PicturesMoveTogether) {
  const Dataset pictures =
      make_dataset(dir_ / "pictures", {.num_records = 10, .undecodable = {0, 5}});
  LoaderOptions with;
  with.batch_size = 4;
  with.num_threads = 2;
  with.image.transform = ResizeCenterCrop{.resize = 8, .size = 8};
  with.sampler = options().sampler;
  with.bad_samples = BadSamples::skip;
  Loader loader(pictures, with);
  with.sampler.tail = Tail::even;
  Loader replacing(pictures, with);
  while (const std::optional<Batch> batch = loader.next()) {
    const std::optional<Batch> whole = replacing.next();
    ASSERT_EQ(batch->size() + std::ssize(batch->left_out()), whole->size());
    const size_t bytes = batch->field("image").num_bytes() / static_cast<size_t>(batch->size());
    for (int64_t i = 0, j = 0; j < whole->size(); ++j) {
      if (i == batch->size() || batch->record_indices()[i] != whole->record_indices()[j]) continue;
      EXPECT_EQ(std::memcmp(static_cast<const std::byte*>(batch->images()) + i * bytes,
                            static_cast<const std::byte*>(whole->images()) + j * bytes, bytes),
                0);
      EXPECT_EQ(batch->labels()[i], testing::label_of(batch->record_indices()[i]));
      ++i;
    }
  }
}

}  // namespace
}  // namespace ffkit
