#include "io/read_plan.h"

#include "loader_prelude.h"

namespace ffkit {
namespace {

class ReadPlanTest : public ::testing::Test {
 protected:
  ReadPlan plan(const std::vector<int64_t>& records, int64_t alignment = 1,
                int64_t max_merged_bytes = 1 << 20) const {
    ReadPlan out;
    plan_reads(dataset_, records, alignment, max_merged_bytes, out);
    return out;
  }

  // Every sample lies within the read that is planned for it, and every sample has one.
  void expect_covered(const ReadPlan& plan, const std::vector<int64_t>& records) const {
    ASSERT_EQ(plan.samples.size(), records.size());
    ASSERT_EQ(plan.indices_in_batch.size(), records.size());
    std::vector<int> times(records.size());
    int64_t next = 0;
    int64_t last_first = -1;
    for (const PlannedRead& read : plan.reads) {
      ASSERT_GE(read.count, 1);
      const auto indices =
          std::span(plan.indices_in_batch)
              .subspan(static_cast<size_t>(read.first), static_cast<size_t>(read.count));
      EXPECT_GT(indices.front(), last_first) << "reads are in the batch's order";
      last_first = indices.front();
      EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
      for (int64_t index : indices) {
        ++times[static_cast<size_t>(index)];
        const auto& location = plan.samples[static_cast<size_t>(index)].location;
        const auto wanted = dataset_.locate(records[static_cast<size_t>(index)]);
        EXPECT_EQ(location.record.offset, wanted.record.offset);
        EXPECT_EQ(location.shard_index, wanted.shard_index);
        EXPECT_EQ(read.shard_index, wanted.shard_index);
        EXPECT_GE(wanted.record.offset, read.offset);
        EXPECT_LE(wanted.record.offset + wanted.record.stored_bytes, read.offset + read.num_bytes);
      }
      next += read.count;
    }
    EXPECT_EQ(next, static_cast<int64_t>(records.size()));
    EXPECT_EQ(times, std::vector<int>(records.size(), 1));
  }

  static std::vector<int64_t> range(int64_t first, int64_t count) {
    std::vector<int64_t> records(static_cast<size_t>(count));
    std::iota(records.begin(), records.end(), first);
    return records;
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_records = 60, .num_shards = 2});
};

TEST_F(ReadPlanTest, NeighboursShareOneReadAShard) {
  const auto records = range(0, 60);
  const ReadPlan p = plan(records);
  expect_covered(p, records);
  EXPECT_EQ(p.reads.size(), 2U);
}

TEST_F(ReadPlanTest, ScatteredRecordsAreReadOneByOneAndExactly) {
  const std::vector<int64_t> records = {50, 3, 28, 1, 45};
  const ReadPlan p = plan(records);
  expect_covered(p, records);
  ASSERT_EQ(p.reads.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(p.reads[i].num_bytes, p.samples[i].location.record.stored_bytes);
  }
}

TEST_F(ReadPlanTest, NeighboursApartInTheBatchShareARead) {
  // 10 .. 12 and 40, 41, mixed.
  const std::vector<int64_t> records = {12, 40, 3, 10, 41, 20, 11};
  const ReadPlan p = plan(records);
  expect_covered(p, records);
  ASSERT_EQ(p.reads.size(), 4U);
  EXPECT_EQ(p.indices_in_batch, (std::vector<int64_t>{0, 3, 6, 1, 4, 2, 5}))
      << "by read, of the first sample that each of them serves";
}

TEST_F(ReadPlanTest, AnyOrderOfTheSameRecordsNeedsTheSameReads) {
  auto records = range(7, 40);
  const size_t num_reads = plan(records, 4096, 16384).reads.size();
  for (int step = 0; step < 20; ++step) {
    for (size_t i = records.size(); i > 1; --i) {
      std::swap(records[i - 1], records[(i * 7919 + static_cast<size_t>(step) * 104729) % i]);
    }
    const ReadPlan p = plan(records, 4096, 16384);
    expect_covered(p, records);
    EXPECT_EQ(p.reads.size(), num_reads);
  }
}

TEST_F(ReadPlanTest, OneRecordTwiceIsReadOnce) {
  const std::vector<int64_t> records = {5, 30, 5, 5};
  for (int64_t max_merged_bytes : {1, 1 << 20}) {
    const ReadPlan p = plan(records, 1, max_merged_bytes);
    expect_covered(p, records);
    ASSERT_EQ(p.reads.size(), 2U);
    EXPECT_EQ(p.reads[0].count, 3);
    EXPECT_EQ(p.reads[0].num_bytes, p.samples[0].location.record.stored_bytes);
  }
}

TEST_F(ReadPlanTest, MergedReadsAreBounded) {
  const auto records = range(0, 60);
  const ReadPlan p = plan(records, 1, 8192);
  expect_covered(p, records);
  EXPECT_GT(p.reads.size(), 4U);
  for (const PlannedRead& read : p.reads) EXPECT_LE(read.num_bytes, 8192);
}

TEST_F(ReadPlanTest, ReadsAreAlignedForDirectIo) {
  for (const auto& records : {range(0, 60), std::vector<int64_t>{50, 3, 28, 1, 45}}) {
    const ReadPlan p = plan(records, 4096, 16384);
    expect_covered(p, records);
    for (const PlannedRead& read : p.reads) {
      EXPECT_EQ(read.offset % 4096, 0);
      EXPECT_EQ(read.num_bytes % 4096, 0);
      EXPECT_LE(read.num_bytes, 16384);
    }
  }
}

TEST_F(ReadPlanTest, RecordThatCannotBeLocatedCarriesItsError) {
  const std::vector<int64_t> records = {1, 1000, 2};
  const ReadPlan p = plan(records);
  ASSERT_EQ(p.reads.size(), 2U) << "1 and 2 are neighbours";
  EXPECT_EQ(p.reads[0].count, 2);
  EXPECT_EQ(p.reads[1].num_bytes, 0);
  EXPECT_EQ(p.indices_in_batch[static_cast<size_t>(p.reads[1].first)], 1);
  EXPECT_NE(p.samples[1].error, nullptr);
  EXPECT_EQ(p.samples[0].error, nullptr);
  EXPECT_EQ(p.samples[2].error, nullptr);
}

}  // namespace
}  // namespace ffkit
