// Fields of any number of rows in parts that threads share.
#include "decode/chunk_decoder.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kNumStacks = 12;
constexpr int64_t kNumParts = 5;

int64_t rows_of_part(int64_t record, int64_t part) {
  return (record * 5 + part * 3) % 4;  // 0 too
}

struct StackSpec {
  int64_t max_rows = 15;  // 6 at least are never reached
  RowLayout layout = RowLayout::ragged;
  bool together = false;     // a part begins when all have: takes as many threads
  std::string bad_step;      // of the parts 1 and 3 of record 7
  int64_t wrong_count = 0;   // by which count_rows() is wrong
  int64_t wrong_number = 0;  // by which what write_rows() returns is
};

// Row k of part p of record r is {r, 10 p + k}.
class Stack final : public RowPartsDecoder {
 public:
  explicit Stack(StackSpec spec) : spec_(std::move(spec)) {
    for (int64_t i = 0; i < kNumStacks; ++i)
      all_begun_.push_back(std::make_unique<std::latch>(kNumParts));
  }
  struct Begun final : Scratch {
    int64_t record = -1;
    int64_t part = -1;
  };
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {2}; }
  int64_t max_rows() const override { return spec_.max_rows; }
  RowLayout layout() const override { return spec_.layout; }
  int64_t num_parts() const override { return kNumParts; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Begun>(); }

  void begin_part(const RecordView& record, const SampleKey&, int64_t part,
                  Scratch* scratch) const override {
    auto& begun = static_cast<Begun&>(*scratch);
    begun.record = record.scalar<int64_t>(0);
    begun.part = part;
    if (spec_.together) all_begun_[static_cast<size_t>(begun.record)]->arrive_and_wait();
    step("begin", begun);
  }
  int64_t count_rows(const RecordView&, const SampleKey&, int64_t part,
                     Scratch* scratch) const override {
    const auto& begun = static_cast<Begun&>(*scratch);
    EXPECT_EQ(begun.part, part);
    step("count", begun);
    return rows_of_part(begun.record, part) + spec_.wrong_count;
  }
  int64_t write_rows(const RecordView&, const SampleKey&, int64_t part, Scratch* scratch,
                     int64_t room, void* out) const override {
    const auto& begun = static_cast<Begun&>(*scratch);
    EXPECT_EQ(begun.part, part);
    step("write", begun);
    const int64_t num_rows = std::min(rows_of_part(begun.record, part), room);
    auto* to = static_cast<int64_t*>(out);
    for (int64_t k = 0; k < num_rows; ++k) {
      *to++ = begun.record;
      *to++ = 10 * part + k;
    }
    return num_rows + spec_.wrong_number;
  }

 private:
  void step(const char* name, const Begun& begun) const {
    if (spec_.bad_step != name || begun.record != 7 || begun.part % 2 == 0) return;
    throw Error(ErrorCode::corrupt, "part " + std::to_string(begun.part) + " is bad");
  }

  StackSpec spec_;
  std::vector<std::unique_ptr<std::latch>> all_begun_;  // by record
};

std::vector<int64_t> expected_rows(int64_t record, int64_t max_rows) {
  std::vector<int64_t> rows;
  for (int64_t part = 0; part < kNumParts; ++part) {
    for (int64_t k = 0; k < rows_of_part(record, part) && std::ssize(rows) < 2 * max_rows; ++k) {
      rows.insert(rows.end(), {record, 10 * part + k});
    }
  }
  return rows;
}

class RowPartsDecoderTest : public ::testing::Test {
 protected:
  RowPartsDecoderTest() { dataset_.emplace(testing::make_numbers(dir_ / "data", kNumStacks)); }
  static LoaderOptions options(const StackSpec& spec, int num_threads, int64_t batch_size = 1) {
    LoaderOptions out{.batch_size = batch_size, .image_field = "", .label_field = "n"};
    out.sampler = {.order = Order::sequential, .tail = Tail::even};
    out.num_threads = num_threads;
    out.memory.prefetch_batches = 1;
    out.io.read_ahead_epochs = false;
    out.fields = {{"stack", std::make_shared<Stack>(spec)}};
    return out;
  }
  // Beside another field, and alone.
  void expect_rows(const StackSpec& spec, int num_threads, int64_t batch_size) {
    for (const char* label_field : {"n", ""}) {
      LoaderOptions with = options(spec, num_threads, batch_size);
      with.label_field = label_field;
      expect_rows_of(Loader(*dataset_, with), spec);
    }
  }
  static void expect_rows_of(Loader loader, const StackSpec& spec) {
    int64_t num_samples = 0;
    while (const auto batch = loader.next()) {
      const auto offsets = batch->row_offsets("stack");
      const auto* values = static_cast<const int64_t*>(batch->field("stack").data);
      for (size_t i = 0; i + 1 < offsets.size(); ++i, ++num_samples) {
        std::vector<int64_t> expected = expected_rows(batch->record_indices()[i], spec.max_rows);
        EXPECT_EQ(2 * (offsets[i + 1] - offsets[i]), std::ssize(expected));
        const bool is_padded = spec.layout == RowLayout::padded;
        if (is_padded) expected.resize(static_cast<size_t>(2 * spec.max_rows));
        const int64_t begin = is_padded ? static_cast<int64_t>(i) * spec.max_rows : offsets[i];
        const std::vector<int64_t> found(values + 2 * begin,
                                         values + 2 * begin + std::ssize(expected));
        EXPECT_EQ(found, expected) << "record " << batch->record_indices()[i];
      }
    }
    EXPECT_EQ(num_samples, kNumStacks);
  }
  testing::TempDir dir_;
  std::optional<Dataset> dataset_;
};

TEST_F(RowPartsDecoderTest, RowsAreTheSameForAnyThreads) {
  for (const int64_t max_rows : {15, 6, 1}) {
    for (const RowLayout layout : {RowLayout::ragged, RowLayout::padded}) {
      for (const int num_threads : {1, 2, 4}) {
        for (const int64_t batch_size : {1, 5}) {
          expect_rows({.max_rows = max_rows, .layout = layout}, num_threads, batch_size);
        }
      }
    }
  }
}

// One thread alone would never end.
TEST_F(RowPartsDecoderTest, ThreadsShareTheParts) {
  for (const int64_t max_rows : {15, 6, 1}) {
    for (const RowLayout layout : {RowLayout::ragged, RowLayout::padded}) {
      expect_rows({.max_rows = max_rows, .layout = layout, .together = true}, kNumParts, 1);
    }
  }
}

TEST_F(RowPartsDecoderTest, BadPartIsABadSample) {
  for (const std::string step : {"begin", "count", "write"}) {
    for (const bool together : {true, false}) {
      if (step == "count" && !together) continue;  // one thread does not count
      const StackSpec spec{.together = together, .bad_step = step};
      const int num_threads = together ? kNumParts : 1;
      LoaderOptions failing = options(spec, num_threads);
      Loader loader(*dataset_, failing);
      for (int64_t i = 0; i < 7; ++i) loader.next();
      EXPECT_ERROR(loader.next(), corrupt, .record = 7, .subject = sample);
    }
    if (step == "count") continue;
    LoaderOptions skipping = options({.bad_step = step}, 2, kNumStacks);
    skipping.bad_samples = BadSamples::skip;
    const auto batch = Loader(*dataset_, skipping).next();
    ASSERT_EQ(batch->replacements().size(), 1U);
    EXPECT_EQ(batch->replacements()[0].bad_record, 7);
    const auto offsets = batch->row_offsets("stack");
    EXPECT_EQ(2 * (offsets[8] - offsets[7]),
              std::ssize(expected_rows(batch->record_indices()[7], 15)));
  }
}

// Part 0 is counted long after part 1 is.
class SlowFirstPart final : public RowPartsDecoder {
 public:
  explicit SlowFirstPart(std::chrono::milliseconds pause) : pause_(pause) {}
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {}; }
  int64_t max_rows() const override { return 2; }
  int64_t num_parts() const override { return 2; }
  void begin_part(const RecordView&, const SampleKey&, int64_t, Scratch*) const override {
    both_begun_.arrive_and_wait();
  }
  int64_t count_rows(const RecordView&, const SampleKey&, int64_t part, Scratch*) const override {
    if (part == 0) {
      other_is_counted_.wait();
      std::this_thread::sleep_for(pause_);
    } else {
      other_is_counted_.count_down();
    }
    return 1;
  }
  int64_t write_rows(const RecordView&, const SampleKey&, int64_t, Scratch*, int64_t,
                     void* out) const override {
    *static_cast<uint8_t*>(out) = 0;
    return 1;
  }

 private:
  std::chrono::milliseconds pause_;
  mutable std::latch both_begun_{2};
  mutable std::latch other_is_counted_{1};
};

TEST_F(RowPartsDecoderTest, WaitingForTheCountOfAnotherPartIsNoDecoding) {
  const std::chrono::milliseconds pause(100);
  const auto begin = std::chrono::steady_clock::now();
  const Dataset one = dataset_->subset({0});
  LoaderOptions with = options({}, 2);
  with.fields = {{"slow", std::make_shared<SlowFirstPart>(pause)}};
  Loader loader(one, with);
  ASSERT_TRUE(loader.next().has_value());
  // Two threads; one of them waited for as long as the pause.
  const std::chrono::duration<double> most = 2 * (std::chrono::steady_clock::now() - begin) - pause;
  EXPECT_GT(loader.statistics().decode_seconds, 0.1);
  EXPECT_LT(loader.statistics().decode_seconds, most.count());
  EXPECT_LT(loader.statistics().busy_seconds, most.count());
}

TEST_F(RowPartsDecoderTest, WrongNumberOfRowsEndsTheEpochAndIsNamed) {
  StackSpec spec{.together = true, .wrong_count = 1};
  EXPECT_ERROR(Loader(*dataset_, options(spec, kNumParts)).next(), invalid_argument, .record = 0,
               .subject = sample);
  spec = {.together = true, .wrong_count = -9};
  EXPECT_ERROR(Loader(*dataset_, options(spec, kNumParts)).next(), invalid_argument, .record = 0,
               .subject = sample);
  spec = {.wrong_number = 16};
  EXPECT_ERROR(Loader(*dataset_, options(spec, 1)).next(), invalid_argument, .record = 0,
               .subject = sample);
  spec = {.wrong_number = -1};
  LoaderOptions skipping = options(spec, 1);
  skipping.bad_samples = BadSamples::skip;
  EXPECT_ERROR(Loader(*dataset_, skipping).next(), invalid_argument, .record = 0,
               .subject = sample);
}

TEST(RowParts, PlaceIsKnownWhenThePartsBeforeAreCountedOrWritten) {
  RowParts rows;
  rows.begin_sample(4);
  rows.begin(0);
  EXPECT_EQ(rows.first_row_uncounted(0), 0);
  rows.end(0, 3);
  rows.begin(1);
  EXPECT_EQ(rows.first_row_uncounted(1), 3);
  rows.begin(2);
  EXPECT_EQ(rows.first_row_uncounted(1), std::nullopt) << "part 2 waits for the count";
  EXPECT_EQ(rows.first_row_uncounted(2), std::nullopt);
  EXPECT_EQ(rows.first_row(1, 4), 3);
  EXPECT_EQ(rows.first_row_uncounted(2), 7);
  rows.end(1, 2);  // fewer than counted: there was no more room
  rows.end(2, 0);
  rows.begin(3);
  rows.end(3, 5);
  EXPECT_EQ(rows.num_rows(), 12);
}

}  // namespace
}  // namespace ffkit
