// Small image data sets that tests make for themselves.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/base/compression.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_writer.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "test_images.h"

namespace ffkit::testing {

struct DatasetSpec {
  int64_t num_records = 40;
  int64_t num_shards = 3;
  int width = 48;
  int height = 40;
  DType label_dtype = DType::i64;
  std::vector<int64_t> undecodable;    // records whose image is not one, under a correct checksum
  std::vector<int64_t> without_label;  // records whose label is null
  size_t padding_bytes = 0;            // zeros behind each picture, which compression saves
  CompressionOptions compression;
  bool dct = false;  // the pictures are in the dct code
};

// The label that make_dataset() gives to a record.
inline int64_t label_of(int64_t record_index) {
  return record_index * 7 % 1000;
}

inline std::vector<std::byte> make_record(const Schema& schema, const DatasetSpec& spec,
                                          int64_t record_index) {
  const auto has = [&](const std::vector<int64_t>& list) {
    return std::find(list.begin(), list.end(), record_index) != list.end();
  };
  const Picture picture = make_picture(spec.width + static_cast<int>(record_index % 5), spec.height,
                                       static_cast<uint32_t>(record_index));
  std::vector<std::byte> image = encode_jpeg(picture.view());
  if (has(spec.undecodable)) image.assign(300, std::byte{'x'});
  image.resize(image.size() + spec.padding_bytes);
  if (std::vector<std::byte> code; spec.dct && !encode_dct_picture(image, code)) image.swap(code);
  const std::string id = fmt::format("class/{:06}.JPEG", record_index);
  RecordBuilder builder(schema);
  builder.set_bytes(schema.require("image"), image);
  builder.set_string(schema.require("id"), id);
  if (!has(spec.without_label)) {
    const size_t field = schema.require("label");
    const int64_t label = label_of(record_index);
    if (spec.label_dtype == DType::i64) builder.set_scalar<int64_t>(field, label);
    if (spec.label_dtype == DType::u16) {
      builder.set_scalar<uint16_t>(field, static_cast<uint16_t>(label));
    }
    if (spec.label_dtype == DType::f32) {
      builder.set_scalar<float>(field, static_cast<float>(label));
    }
  }
  std::vector<std::byte> record;
  builder.encode(record);
  return record;
}

// Writes a split into the new folder `folder`, its records spread evenly over the shards, and opens
// it.
inline Dataset make_dataset(const std::filesystem::path& folder, const DatasetSpec& spec = {}) {
  std::filesystem::create_directory(folder);
  Manifest manifest;
  manifest.split = "train";
  manifest.schema = image_classification_schema();
  manifest.schema.fields[manifest.schema.require("label")].dtype = spec.label_dtype;
  manifest.created_by = "test";
  int64_t record_index = 0;
  for (int64_t shard = 0; shard < spec.num_shards; ++shard) {
    const std::string file = fmt::format("shard-{:05}.ffr", shard);
    ShardWriterOptions options;
    options.uuid[0] = static_cast<uint8_t>(shard + 1);
    options.compression = spec.compression;
    ShardWriter writer(folder / file, manifest.schema, options);
    const int64_t end = spec.num_records * (shard + 1) / spec.num_shards;
    for (; record_index < end; ++record_index) {
      writer.append(make_record(manifest.schema, spec, record_index));
    }
    manifest.shards.push_back({writer.finish(), file});
  }
  write_manifest(folder / "manifest.json", manifest);
  return Dataset::open(folder);
}

// Writes a split of one shard into the new folder `folder`; record(i) encodes record i.
template <typename Record>
void write_split(const std::filesystem::path& folder, const Schema& schema, int64_t num_records,
                 const Record& record) {
  std::filesystem::create_directory(folder);
  Manifest manifest;
  manifest.split = "train";
  manifest.schema = schema;
  manifest.created_by = "test";
  ShardWriter writer(folder / "shard-00000.ffr", schema, {});
  for (int64_t i = 0; i < num_records; ++i) writer.append(record(i));
  manifest.shards.push_back({writer.finish(), "shard-00000.ffr"});
  write_manifest(folder / "manifest.json", manifest);
}

// A new split of one field, which holds the number of its record.
inline Dataset make_numbers(const std::filesystem::path& folder, int64_t count,
                            const char* field = "n") {
  const Schema schema{{{.name = field, .type = FieldType::scalar, .dtype = DType::i64}}};
  DatasetWriter writer(folder, {.split = "train", .schema = schema});
  RecordBuilder builder(schema);
  std::vector<std::byte> record;
  for (int64_t i = 0; i < count; ++i) {
    builder.set_scalar<int64_t>(0, i);
    builder.encode(record);
    writer.append(record);
  }
  writer.finish();
  return Dataset::open(folder);
}

}  // namespace ffkit::testing
