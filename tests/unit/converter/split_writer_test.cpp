#include "converter/output/split_writer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/base/crc32c.h>
#include <ffkit/format/record.h>

#include "child_process.h"
#include "fake_source.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Where the system gives no thread more, shards are closed by the one that waits for them.
TEST(SplitWriter, ClosesShardsWithoutAnotherThread) {
  const testing::TempDir dir;
  fs::permissions(dir.path(), fs::perms::all);  // for the child, who is another user
  const auto child = [&dir] {
    const testing::FakeSource source(3);
    const std::vector<SplitPlan> plans = plan_splits(source, {.num_threads = 1});
    testing::allow_no_more_threads();
    SplitWriter writer(source, plans.front(), dir / "train", dir / "train");
    writer.begin(0);
    const Schema schema = source.schema();
    RecordBuilder builder(schema);
    SampleBuffers buffers;
    std::vector<std::byte> record;
    for (int64_t i = 0; i < 3; ++i) {
      source.read(0, i, builder, buffers);
      builder.encode(record);
      writer.append(record, {.bytes = record, .crc32c = crc32c(record)}, "");
    }
    writer.end();
    const std::vector<ManifestShard> shards = writer.finish();
    testing::expect(shards.size() == 1 && shards[0].num_records == 3, "a shard of 3 records");
    testing::expect(fs::exists(dir / "train/shard-00000.ffr"), "it is there");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ffkit
