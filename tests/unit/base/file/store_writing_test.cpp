// Shards, splits and manifests at addresses; file:// needs no server. And what is written to disks
// alone, which refuses addresses.
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>

#include "base/file/file.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::files_of;

const Schema kSchemaInStore{{{.name = "label", .type = FieldType::scalar, .dtype = DType::i64}}};

void write_split(const fs::path& folder, int64_t num_records, bool is_finished = true) {
  DatasetWriter writer(folder, {.split = "train", .schema = kSchemaInStore});
  RecordBuilder record(writer.schema());
  for (int64_t i = 0; i < num_records; ++i) {
    record.set_scalar(0, i);
    writer.append(testing::encoded(record));
  }
  if (is_finished) writer.finish();
}

TEST(StoreWriting, AnAddressGetsTheBytesOfAFolder) {
  const TempDir dir;
  const std::string place = "file://" + (dir / "there/train").string();
  write_split(dir / "here", 1000);
  write_split(place, 1000, /*is_finished=*/false);
  EXPECT_TRUE(files_of(dir / "there/train").empty());
  write_split(place, 1000);
  EXPECT_EQ(files_of(dir / "there/train"), files_of(dir / "here"));
  EXPECT_EQ(Dataset::open(place).num_records(), 1000);
  EXPECT_ERROR(write_split(place, 3), invalid_argument);
  EXPECT_ERROR(DatasetWriter::append_to(place), unsupported);
  EXPECT_ERROR(write_split("https://host/set/train", 3), unsupported);
}

TEST(StoreWriting, NoManifestIsReplaced) {
  const TempDir dir;
  const std::string path = "file://" + (dir / "manifest.json").string();
  const Manifest manifest{.split = "train", .schema = kSchemaInStore};
  write_manifest(path, manifest);
  write_manifest(path, manifest);  // the same one
  EXPECT_ERROR(write_manifest(path, {.split = "val", .schema = kSchemaInStore}), invalid_argument);
  EXPECT_EQ(read_manifest(path).split, "train");
}

TEST(StoreWriting, FilesOfThisMachineHaveNoAddresses) {
  EXPECT_ERROR(require_local("s3://bucket/run"), unsupported);
  EXPECT_ERROR(require_local("s3:/bucket/run"), invalid_argument);
  EXPECT_ERROR_CODE(File::create("gs://bucket/x"), unsupported);
  for (const char* path : {"run", "/run", "a/b://c", "c:/x", ":/x", ""}) require_local(path);
}

}  // namespace
}  // namespace ffkit
