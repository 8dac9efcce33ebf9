// Rows of Arrow's tables as samples. Types and shapes by the dozen are compared with pyarrow's in
// tests/python/engines/test_tables.py.
#include <ffkit/sources/arrow_samples.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

// A table with the columns number (i32) and text, whose memory is the test's.
class NumbersAndTexts {
 public:
  NumbersAndTexts(std::vector<int32_t> numbers, const std::vector<std::string>& texts)
      : numbers_(std::move(numbers)) {
    offsets_.push_back(0);
    for (const std::string& text : texts) {
      characters_ += text;
      offsets_.push_back(static_cast<int32_t>(characters_.size()));
    }
    // The second row of the text is null.
    for (size_t i = 0; i < numbers_.size(); ++i)
      valid_ |= static_cast<uint8_t>(i == 1 ? 0 : 1 << i);
    types_[0] = {.format = "i", .name = "number"};
    types_[1] = {.format = "u", .name = "text"};
    number_buffers_ = {nullptr, numbers_.data()};
    text_buffers_ = {&valid_, offsets_.data(), characters_.data()};
  }

  ArrowSchema& type(size_t column) { return types_[column]; }

  ArrowSchema table() {
    return {.format = "+s", .name = "", .n_children = 2, .children = type_pointers_};
  }

  // From row `offset` on. Counts its releases.
  ArrowOwner<ArrowArray> batch(int64_t offset = 0) {
    const int64_t length = std::ssize(numbers_) - offset;
    const int64_t num_nulls = offset > 1 ? 0 : -1;  // -1: whoever wants to know counts them
    columns_[0] = {
        .length = length, .offset = offset, .n_buffers = 2, .buffers = number_buffers_.data()};
    columns_[1] = {.length = length,
                   .null_count = num_nulls,
                   .offset = offset,
                   .n_buffers = 3,
                   .buffers = text_buffers_.data()};
    ArrowOwner<ArrowArray> batch;
    *batch.get() = {.length = length,
                    .n_buffers = 1,
                    .n_children = 2,
                    .buffers = no_buffers_,
                    .children = column_pointers_};
    batch->private_data = this;
    batch->release = [](ArrowArray* self) {
      ++static_cast<NumbersAndTexts*>(self->private_data)->num_released;
      self->release = nullptr;
    };
    return batch;
  }

  int num_released = 0;

 private:
  std::vector<int32_t> numbers_;
  std::vector<int32_t> offsets_;
  std::string characters_;
  uint8_t valid_ = 0;
  ArrowSchema types_[2] = {};
  ArrowSchema* type_pointers_[2] = {&types_[0], &types_[1]};
  ArrowArray columns_[2] = {};
  ArrowArray* column_pointers_[2] = {&columns_[0], &columns_[1]};
  std::vector<const void*> number_buffers_;
  std::vector<const void*> text_buffers_;
  const void* no_buffers_[1] = {nullptr};
};

Schema numbers_and_texts(DType dtype = DType::i64) {
  return {{{"text", FieldType::string},
           {"number", FieldType::scalar, dtype, true},
           {"more", FieldType::bytes}}};
}

TEST(ArrowSamples, RowsBecomeRecordsAndTheBatchIsReleased) {
  const TempDir dir;
  NumbersAndTexts table({5, -6, 7, 8}, {"five", "", "seven", "eight"});
  const ArrowSamples samples(numbers_and_texts(), table.table());
  {
    SampleWriter writer(dir / "set", "train", numbers_and_texts(), {.num_threads = 2});
    const auto write = [&](SampleWriter::SetFields set_fields, int64_t num_bytes) {
      EXPECT_GT(num_bytes, 0);
      return writer.write(std::move(set_fields), num_bytes);
    };
    for (const int64_t offset : {0, 2}) {
      ArrowOwner<ArrowArray> batch = table.batch(offset);
      samples.check(*batch.get());
      samples.write(std::move(batch), write);
      // The test's memory is that of one batch.
      while (table.num_released < (offset == 0 ? 1 : 2)) std::this_thread::yield();
    }
    writer.finish();
  }
  EXPECT_EQ(table.num_released, 2);
  const Dataset data = Dataset::open(dir / "set", "train");
  EXPECT_THAT(data.int_column("number"), ElementsAre(5, -6, 7, 8, 7, 8));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < data.num_records(); ++i) {
    std::vector<std::byte> record;
    data.read(i, record);
    const RecordView view(data.schema(), record);
    texts.emplace_back(view.is_null(0) ? "null" : view.string(0));
    EXPECT_TRUE(view.is_null(2));
  }
  EXPECT_THAT(texts, ElementsAre("five", "null", "seven", "eight", "seven", "eight"));
}

TEST(ArrowSamples, ANumberThatTheFieldDoesNotHoldIsAnErrorOfItsRow) {
  const TempDir dir;
  NumbersAndTexts table({5, 6, 256, 8}, {"five", "", "seven", "eight"});
  const ArrowSamples samples(numbers_and_texts(DType::u8), table.table());
  SampleWriter writer(dir / "set", "train", numbers_and_texts(DType::u8), {.num_threads = 1});
  const auto write_all = [&] {
    samples.write(table.batch(), [&](SampleWriter::SetFields set_fields, int64_t num_bytes) {
      return writer.write(std::move(set_fields), num_bytes);
    });
    writer.finish();
  };
  EXPECT_ERROR(write_all(), invalid_argument, .record = 2);
}

TEST(ArrowSamples, WhatNoFieldTakesIsRefusedBeforeAnythingIsWritten) {
  NumbersAndTexts table({5}, {"five"});
  const auto open = [&](const Schema& schema) { ArrowSamples(schema, table.table()); };
  Schema lacking = numbers_and_texts();
  lacking.fields.erase(lacking.fields.begin());
  EXPECT_ERROR(open(lacking), unsupported, .subject = field, .name = "text");
  Schema other = numbers_and_texts();
  other.fields[0].type = FieldType::bytes;
  EXPECT_ERROR(open(other), unsupported, .subject = field, .name = "text");
  EXPECT_ERROR(open(numbers_and_texts(DType::f16)), unsupported);
  for (const char* format : {"tsu:", "+m", "w:0", "vz", "z"}) {
    table.type(1).format = format;
    EXPECT_ERROR_CODE(open(numbers_and_texts()), unsupported);
  }
  table.type(1) = {.format = "u", .name = "number"};
  EXPECT_ERROR(open(numbers_and_texts()), unsupported);
  ArrowSchema none = table.table();
  none.format = "i";
  EXPECT_ERROR(ArrowSamples(numbers_and_texts(), none), corrupt);
}

}  // namespace
}  // namespace ffkit
