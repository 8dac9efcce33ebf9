#include <cstring>

#include <ffkit/format/dataset_writer.h>

#include "base/file/file.h"
#include "base/fnv.h"
#include "base/json_text.h"
#include "base/make_error.h"
#include "base/other_words.h"
#include "dataset/manifest_text.h"
#include "schema/schema_json.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

void require_valid(const DatasetWriterOptions& options, const std::filesystem::path& folder) {
  if (options.shard_bytes < (1 << 20)) {
    throw error_at(folder, ErrorCode::invalid_argument,
                   "a shard size of {} bytes is too small; give 1 MiB or more",
                   options.shard_bytes);
  }
}

}  // namespace

std::string shard_file_name(int64_t number) {
  return fmt::format("shard-{:05}.ffr", number);
}

std::array<uint8_t, 16> shard_uuid(const Manifest& manifest, int64_t number) {
  std::string text = fmt::format("{}\n{}\n{}\n", manifest.split,
                                 json_text(schema_to_json(manifest.schema)), number);
  for (const auto& [key, value] : with_first_names(manifest.options))
    text += fmt::format("{}={}\n", key, value);
  const auto bytes = std::as_bytes(std::span(text));
  const std::array<uint64_t, 2> words = {fnv1a64(bytes), fnv1a64(bytes, ~kFnvBasis)};
  std::array<uint8_t, 16> uuid{};
  std::memcpy(uuid.data(), words.data(), uuid.size());
  uuid[6] = static_cast<uint8_t>(0x80 | (uuid[6] & 0x0F));
  uuid[8] = static_cast<uint8_t>(0x80 | (uuid[8] & 0x3F));
  return uuid;
}

struct DatasetWriter::Impl {
  std::filesystem::path folder;
  Manifest manifest;
  DatasetWriterOptions options;
  std::unique_ptr<ShardWriter> shard;
  std::vector<std::filesystem::path> written;  // finished shards, until the manifest names them
  bool is_addition = false;
  int64_t next_number = 0;
  int64_t num_records = 0;

  void open_shard() {
    std::string file = shard_file_name(next_number);
    // An interrupted addition may have left shards that no manifest lists.
    while (is_addition && errors_only(folder, [&] { return is_file_at(folder / file); })) {
      file = shard_file_name(++next_number);
    }
    shard =
        std::make_unique<ShardWriter>(folder / file, manifest.schema,
                                      ShardWriterOptions{.alignment = options.alignment,
                                                         .uuid = shard_uuid(manifest, next_number),
                                                         .compression = options.compression,
                                                         .expected_bytes = options.shard_bytes});
    manifest.shards.push_back({{}, std::move(file)});
    ++next_number;
  }

  template <typename AppendTo>
  int64_t append(AppendTo append_to) {
    if (shard == nullptr) open_shard();
    append_to(*shard);
    if (shard->bytes_written() >= options.shard_bytes) close_shard();
    return num_records++;
  }

  void close_shard() {
    ManifestShard& entry = manifest.shards.back();
    static_cast<ShardSummary&>(entry) = shard->finish();
    written.push_back(folder / entry.file);
    shard.reset();
  }
};

DatasetWriter::DatasetWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DatasetWriter::DatasetWriter(std::filesystem::path folder, Manifest manifest,
                             DatasetWriterOptions options) {
  validate(manifest.schema);
  const Place place(folder);
  folder = place.path();
  require_valid(options, folder);
  // Not only in finish(): what the manifest cannot hold is said before the work.
  static_cast<void>(manifest_text(manifest, folder / "manifest.json"));
  require_writable(place);
  if (!place.is_in_store()) {  // a store has no folders
    std::error_code error;
    const bool is_new = std::filesystem::create_directory(folder, error);
    require_done(error, folder, "the folder cannot be created");
    if (is_new) sync_folder_of(folder);
  }
  if (errors_only(folder, [&] { return is_file_at(folder / "manifest.json"); })) {
    throw error_at(
        folder, ErrorCode::invalid_argument,
        "the folder already contains a data set, and it is not overwritten; give another folder");
  }
  manifest.shards.clear();
  impl_ = std::make_unique<Impl>(Impl{
      .folder = std::move(folder), .manifest = std::move(manifest), .options = std::move(options)});
}

DatasetWriter DatasetWriter::append_to(std::filesystem::path folder, DatasetWriterOptions options) {
  require_valid(options, folder);
  if (Place(folder).is_in_store()) {
    throw error_at(
        folder, ErrorCode::unsupported,
        "records cannot be added to a split in a store, because not every store can replace a "
        "manifest safely; write the records as a new data set, and read both as a chain");
  }
  Manifest manifest = read_manifest(folder / "manifest.json");
  const auto next_number = std::ssize(manifest.shards);
  const int64_t num_records = manifest.num_records();
  return DatasetWriter(std::make_unique<Impl>(Impl{.folder = std::move(folder),
                                                   .manifest = std::move(manifest),
                                                   .options = std::move(options),
                                                   .is_addition = true,
                                                   .next_number = next_number,
                                                   .num_records = num_records}));
}

DatasetWriter::~DatasetWriter() {
  if (impl_ == nullptr) return;
  for (const auto& path : impl_->written) {
    try {
      remove_file_at(path);
    } catch (const std::exception&) {
      continue;  // no manifest names it
    }
  }
}

DatasetWriter::DatasetWriter(DatasetWriter&&) noexcept = default;
DatasetWriter& DatasetWriter::operator=(DatasetWriter&&) noexcept = default;

const Schema& DatasetWriter::schema() const noexcept {
  return impl_->manifest.schema;
}

const CompressionOptions& DatasetWriter::compression() const noexcept {
  return impl_->options.compression;
}

int64_t DatasetWriter::append(std::span<const std::byte> record) {
  return impl_->append([&](ShardWriter& shard) { shard.append(record); });
}

int64_t DatasetWriter::append(std::span<const std::byte> record, const StoredRecord& stored,
                              const ContentSum& content) {
  return impl_->append([&](ShardWriter& shard) { shard.append(record, stored, content); });
}

Manifest DatasetWriter::finish() {
  if (impl_->num_records == 0) {
    throw error_at(impl_->folder, ErrorCode::invalid_argument, "a split needs at least one record");
  }
  if (impl_->shard != nullptr) impl_->close_shard();
  write_manifest(impl_->folder / "manifest.json", impl_->manifest);
  impl_->written.clear();
  return impl_->manifest;
}

}  // namespace ffkit
