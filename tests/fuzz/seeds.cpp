#include "seeds.h"

#include <array>
#include <string>

#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_writer.h>

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;

// All field types, and scalars of several widths.
Schema rich_schema() {
  return {{
      {.name = "image", .type = FieldType::image},
      {.name = "blob", .type = FieldType::bytes},
      {.name = "text", .type = FieldType::string, .column = true},
      {.name = "small", .type = FieldType::scalar, .dtype = DType::u8, .column = true},
      {.name = "number", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
      {.name = "weight", .type = FieldType::scalar, .dtype = DType::f32, .column = true},
      {.name = "boxes", .type = FieldType::tensor, .dtype = DType::f32},
  }};
}

ManifestShard write_shard(const fs::path& path, const Schema& schema, int64_t num_records) {
  static constexpr std::array<float, 8> kNumbers = {0, 1, -1, 0.5, 3e38F, 1e-45F, 7, 8};
  ShardWriter writer(path, schema, {.alignment = 512, .uuid = {1, 2, 3}});
  RecordBuilder builder(schema);
  std::vector<std::byte> record;
  const std::string text = "a text that is cut to a record's number of letters";
  for (int64_t i = 0; i < num_records; ++i) {
    const auto part = std::string_view(text).substr(0, static_cast<size_t>(i) % text.size());
    for (size_t f = 0; f < schema.fields.size(); ++f) {
      const Field& field = schema.fields[f];
      if ((static_cast<size_t>(i) + f) % 7 == 6) continue;  // null
      if (field.type == FieldType::image || field.type == FieldType::bytes) {
        builder.set_bytes(f, std::as_bytes(std::span(part)));
      } else if (field.type == FieldType::string) {
        builder.set_string(f, part);
      } else if (field.type == FieldType::tensor) {
        builder.set_tensor(
            f, {.dtype = DType::f32, .shape = {2, 4}, .data = std::as_bytes(std::span(kNumbers))});
      } else if (field.dtype == DType::u8) {
        builder.set_scalar<uint8_t>(f, static_cast<uint8_t>(i));
      } else if (field.dtype == DType::f32) {
        builder.set_scalar<float>(f, static_cast<float>(i) / 3);
      } else {
        builder.set_scalar<int64_t>(f, -i);
      }
    }
    builder.encode(record);
    writer.append(record);
  }
  const ShardSummary summary = writer.finish();
  return {path.filename(), summary.num_records, summary.file_bytes, summary.record_bytes,
          summary.catalog_crc32c};
}

void make_shards(const fs::path& folder) {
  fs::create_directories(folder);
  write_shard(folder / "rich", rich_schema(), 9);
  write_shard(folder / "two_pages",
              {{{.name = "n", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}},
              130);
  write_shard(folder / "one", {{{.name = "blob"}}}, 1);
  write_shard(folder / "empty", image_classification_schema(), 0);
}

void make_manifests(const fs::path& folder) {
  fs::create_directories(folder);
  Manifest manifest{.split = "train", .schema = rich_schema(), .created_by = "seed"};
  write_manifest(folder / "empty", manifest);
  manifest.classes = {"cat", "dog"};
  manifest.class_names = {"Cat", "Dog"};
  manifest.source = {{"kind", "folder"}, {"path", "/somewhere"}};
  manifest.options = {{"seed", "0"}};
  manifest.shards = {{"shard-00000.ffr", 10, 5000, 4000, 0xDEADBEEF},
                     {"shard-00001.ffr", 3, 4500, 100, 1}};
  write_manifest(folder / "full", manifest);
}

}  // namespace

void make_seeds(const fs::path& folder) {
  make_shards(folder / "fuzz_shard");
  make_manifests(folder / "fuzz_manifest");
}

}  // namespace ffkit::fuzzing
