#include "sources/arrow/row_batches.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

// A file of one group, whose batches have the lengths that are given; -1: one that is damaged, and
// behind which the stream goes on.
class LengthsFile final : public ArrowFile {
 public:
  explicit LengthsFile(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {}

  ArrowFormat format() const override { return ArrowFormat::ipc; }
  ArrowOwner<ArrowSchema> schema() override { return {}; }
  std::vector<RowGroup> groups() override { return {RowGroup{}}; }
  ArrowOwner<ArrowArrayStream> read(int64_t, const std::vector<std::string>&, int64_t) override {
    next_ = 0;
    ArrowOwner<ArrowArrayStream> stream;
    stream->get_next = &LengthsFile::get_next;
    stream->get_last_error = [](ArrowArrayStream*) { return "its offsets point outside of it"; };
    stream->release = [](ArrowArrayStream* self) { self->release = nullptr; };
    stream->private_data = this;
    return stream;
  }

 private:
  static int get_next(ArrowArrayStream* stream, ArrowArray* array) {
    auto& self = *static_cast<LengthsFile*>(stream->private_data);
    *array = {};
    if (self.next_ == self.lengths_.size()) return 0;
    const int64_t length = self.lengths_[self.next_++];
    if (length < 0) return 5;
    array->length = length;
    array->release = [](ArrowArray* released) { released->release = nullptr; };
    return 0;
  }

  const std::vector<int64_t> lengths_;
  size_t next_ = 0;
};

class Batches {
 public:
  explicit Batches(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {}

  // The first row of the batch that holds `row`.
  int64_t first_row(int64_t row, int64_t num_rows) {
    return batches_
        .find("table", 0, {.num_rows = num_rows}, row,
              [&] { return std::make_unique<LengthsFile>(lengths_); })
        ->first_row;
  }

 private:
  const std::vector<int64_t> lengths_;
  RowBatches batches_;
};

TEST(RowBatches, RowsAreFoundInAnyOrder) {
  Batches batches({3, 0, 4, 1, 1, 1, 1, 1});
  EXPECT_EQ(batches.first_row(0, 12), 0);
  EXPECT_EQ(batches.first_row(11, 12), 11);
  EXPECT_EQ(batches.first_row(3, 12), 3);
  EXPECT_EQ(batches.first_row(2, 12), 0);
  EXPECT_EQ(batches.first_row(6, 12), 3);
}

TEST(RowBatches, RowsBehindADamagedBatchAreNotTakenForIts) {
  Batches batches({3, -1, 4, 5});
  EXPECT_EQ(batches.first_row(2, 12), 0);
  EXPECT_ERROR(batches.first_row(3, 12), corrupt);
  EXPECT_ERROR(batches.first_row(4, 12), corrupt);
  EXPECT_ERROR(batches.first_row(11, 12), corrupt);
  EXPECT_EQ(batches.first_row(0, 12), 0);
  EXPECT_ERROR(batches.first_row(3, 12), corrupt);
}

TEST(RowBatches, TablesWithFewerOrMoreRowsAreErrors) {
  EXPECT_ERROR(Batches({3, 4}).first_row(7, 8), corrupt);
  EXPECT_ERROR(Batches({}).first_row(0, 8), corrupt);
  EXPECT_ERROR(Batches({3, 4}).first_row(3, 6), corrupt);
  Batches more({3, 4});
  EXPECT_ERROR(more.first_row(0, 3), corrupt);
  EXPECT_ERROR(more.first_row(2, 3), corrupt);
  EXPECT_EQ(Batches({3, 0}).first_row(2, 3), 0);
}

}  // namespace
}  // namespace ffkit
