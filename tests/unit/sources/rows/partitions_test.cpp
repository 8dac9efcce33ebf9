#include "sources/parquet/partitions.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

ShardNames row_files() {
  ShardNames names = names_ending_in(".rows");
  names.hides_underscores = true;
  return names;
}

// "label=cat year=null", of the folders between.
std::string values_between(const std::string& file) {
  std::string values;
  for (const PartitionValue& value : partition_values("/data", "/data/" + file)) {
    values += value.key + '=' + value.value.value_or("(null)") + ' ';
  }
  return values;
}

TEST(PartitionFolders, NamesHoldValues) {
  EXPECT_EQ(values_between("label=cat/0.rows"), "label=cat ");
  EXPECT_EQ(values_between("train/a%20b=c%2Fd/x=/0.rows"), "a b=c/d x= ");
  EXPECT_EQ(values_between("year=__HIVE_DEFAULT_PARTITION__/0.rows"), "year=(null) ");
  EXPECT_EQ(values_between("p=50%/q=%zz/0.rows"), "p=50% q=%zz ");
  EXPECT_EQ(values_between("split=validation/label=1/0.rows"), "label=1 ");
  EXPECT_EQ(values_between("split=left/0.rows"), "split=left ");
  EXPECT_EQ(values_between("=x/plain/a=b.rows"), "");
}

TEST(PartitionFolders, FilesAreFoundBySplit) {
  const TempDir dir;
  EXPECT_FALSE(find_partitioned_shards(dir.path(), row_files()).has_value());
  for (const char* file :
       {"all/a=2/b=1/0.rows", "all/a=1/b=1/1.rows", "all/a=1/b=1/0.rows",
        "all/_temporary/a=1/0.rows", "all/a=1/_other/0.rows", "named/split=train/a=1/0.rows",
        "named/split=valid/a=1/0.rows", "above/train/a=1/0.rows", "above/extra/a=1/0.rows"}) {
    write_file(dir / file, "");
  }
  const auto all = find_partitioned_shards(dir / "all", row_files());
  ASSERT_EQ(all->splits.size(), 1U);
  EXPECT_EQ(all->splits[0].name, "train");
  EXPECT_THAT(all->splits[0].files,
              ElementsAre(dir / "all/a=1/b=1/0.rows", dir / "all/a=1/b=1/1.rows",
                          dir / "all/a=2/b=1/0.rows"));
  const auto named = find_partitioned_shards(dir / "named", row_files());
  ASSERT_EQ(named->splits.size(), 2U);
  EXPECT_EQ(named->splits[1].name, "val");
  const auto above = find_partitioned_shards(dir / "above", row_files());
  EXPECT_EQ(above->splits[0].name, "train");
  EXPECT_EQ(above->splits[1].name, "extra");
  // Files elsewhere would be left out.
  write_file(dir / "all/plain/0.rows", "");
  EXPECT_ERROR(find_partitioned_shards(dir / "all", row_files()), invalid_argument);
  write_file(dir / "above/test/0.rows", "");
  EXPECT_ERROR(find_partitioned_shards(dir / "above", row_files()), invalid_argument);
}

}  // namespace
}  // namespace ffkit
