#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/error.h>

#include "fnv.h"
#include "schema_json.h"

namespace ffkit {
namespace {

// The same split, schema and shard number give the same uuid; RFC 9562, version 8 (the content is
// ours to choose).
std::array<uint8_t, 16> make_uuid(const Manifest& manifest, size_t shard_number) {
  std::string text = fmt::format("{}\n{}\n{}\n", manifest.split,
                                 schema_to_json(manifest.schema).dump(), shard_number);
  for (const auto& [key, value] : manifest.options) text += fmt::format("{}={}\n", key, value);
  const auto bytes = std::as_bytes(std::span(text));
  const std::array<uint64_t, 2> words = {fnv1a64(bytes), fnv1a64(bytes, ~kFnvBasis)};
  std::array<uint8_t, 16> uuid{};
  std::memcpy(uuid.data(), words.data(), uuid.size());
  uuid[6] = static_cast<uint8_t>(0x80 | (uuid[6] & 0x0F));
  uuid[8] = static_cast<uint8_t>(0x80 | (uuid[8] & 0x3F));
  return uuid;
}

}  // namespace

struct DatasetWriter::Impl {
  std::filesystem::path folder;
  Manifest manifest;
  DatasetWriterOptions options;
  std::unique_ptr<ShardWriter> shard;
  int64_t num_records = 0;

  void open_shard() {
    const size_t number = manifest.shards.size();
    const std::string file = fmt::format("shard-{:05}.ffr", number);
    shard = std::make_unique<ShardWriter>(
        folder / file, manifest.schema,
        ShardWriterOptions{.alignment = options.alignment, .uuid = make_uuid(manifest, number)});
    manifest.shards.push_back({.file = file});
  }

  void close_shard() {
    const ShardSummary summary = shard->finish();
    ManifestShard& entry = manifest.shards.back();
    entry.num_records = summary.num_records;
    entry.file_bytes = summary.file_bytes;
    entry.record_bytes = summary.record_bytes;
    entry.catalog_crc32c = summary.catalog_crc32c;
    shard.reset();
  }
};

DatasetWriter::DatasetWriter(std::filesystem::path folder, Manifest manifest,
                             DatasetWriterOptions options) {
  manifest.schema.validate();
  if (options.shard_bytes < (1 << 20)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a shard of {} bytes is too small; the least is 1 MiB", options.shard_bytes),
        {.path = folder.string()});
  }
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) {
    throw Error(ErrorCode::io, "cannot create the folder",
                {.path = folder.string(), .errno_value = error.value()});
  }
  if (std::filesystem::exists(folder / "manifest.json")) {
    throw Error(ErrorCode::invalid_argument, "already holds a data set; nothing is overwritten",
                {.path = folder.string()});
  }
  manifest.shards.clear();
  impl_ = std::make_unique<Impl>(
      Impl{.folder = std::move(folder), .manifest = std::move(manifest), .options = options});
}

DatasetWriter::~DatasetWriter() = default;

int64_t DatasetWriter::append(std::span<const std::byte> record, uint32_t crc32c) {
  if (impl_->shard == nullptr) impl_->open_shard();
  impl_->shard->append(record, crc32c);
  if (impl_->shard->bytes_written() >= impl_->options.shard_bytes) impl_->close_shard();
  return impl_->num_records++;
}

Manifest DatasetWriter::finish() {
  if (impl_->num_records == 0) {
    throw Error(ErrorCode::invalid_argument, "a split needs at least one record",
                {.path = impl_->folder.string()});
  }
  if (impl_->shard != nullptr) impl_->close_shard();
  write_manifest(impl_->folder / "manifest.json", impl_->manifest);
  return impl_->manifest;
}

}  // namespace ffkit
