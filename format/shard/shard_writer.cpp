#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/base/crc32c.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_writer.h>

#include "base/make_error.h"
#include "shard/buffered_writer.h"
#include "shard/shard_layout.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

// Collects an index stream in memory and writes its pages (FORMAT.md, "Index streams").
class StreamWriter {
 public:
  explicit StreamWriter(std::string name) : name_(std::move(name)) {}

  void append(std::span<const std::byte> bytes) {
    payload_.insert(payload_.end(), bytes.begin(), bytes.end());
  }
  int64_t num_bytes() const { return std::ssize(payload_); }

  // Writes the pages at the file's end, which is at `offset`, and returns where they are.
  StreamInfo write(FileSink& file, int64_t offset, uint32_t stream_number) const {
    StreamInfo info{.name = name_, .offset = offset, .num_bytes = num_bytes()};
    constexpr int64_t kPagesPerWrite = 256;
    std::vector<std::byte> buffer;
    for (int64_t page = 0; page < info.num_pages(); ++page) {
      const auto remaining = std::span(payload_).subspan(static_cast<size_t>(page * kPayloadBytes));
      const auto used = remaining.first(std::min<size_t>(remaining.size(), kPayloadBytes));
      std::array<std::byte, kPageBytes> bytes{};
      std::ranges::copy(used, bytes.begin());
      const uint32_t crc =
          seal_page(bytes, page, stream_number, static_cast<uint32_t>(used.size()));
      info.crc32c = crc32c(std::as_bytes(std::span(&crc, 1)), info.crc32c);
      buffer.insert(buffer.end(), bytes.begin(), bytes.end());
      if ((page + 1) % kPagesPerWrite == 0 || page + 1 == info.num_pages()) {
        file.write(buffer);
        buffer.clear();
      }
    }
    return info;
  }

 private:
  std::string name_;
  std::vector<std::byte> payload_;
};

// The index streams of one field with a column.
struct ColumnWriter {
  size_t field = 0;
  StreamWriter values;               // numbers, or the ends of texts
  std::optional<StreamWriter> text;  // string fields only

  void append(const RecordView& record, const Field& described) {
    if (text) {
      text->append(record.raw(field));
      const int64_t end = text->num_bytes();
      values.append(std::as_bytes(std::span(&end, 1)));
    } else if (record.is_null(field)) {
      constexpr uint64_t kZero = 0;
      values.append(std::as_bytes(std::span(&kZero, 1)).first(size_of(described.dtype)));
    } else {
      values.append(record.raw(field));
    }
  }
};

}  // namespace

struct ShardWriter::Impl {
  std::filesystem::path path;
  Schema schema;
  ShardWriterOptions options;
  BufferedWriter<FileSink> out;

  int64_t num_records = 0;
  int64_t record_bytes = 0;
  int64_t raw_bytes = 0;
  RecordCompressor compressor;
  StreamWriter entries{"entries"};
  std::vector<ContentSum> contents;  // empty until one is kept
  std::vector<ColumnWriter> columns;
};

ShardWriter::ShardWriter(std::filesystem::path path, Schema schema, ShardWriterOptions options) {
  validate(schema);
  if (!is_alignment(options.alignment)) {
    throw error_at(path, ErrorCode::invalid_argument,
                   "alignment {} is not a power of two from {} to {}", options.alignment,
                   kMinAlignment, kMaxAlignment);
  }
  if (errors_only(path, [&] { return is_file_at(path); })) {
    throw error_at(path, ErrorCode::invalid_argument,
                   "the file exists already, and it is not overwritten; give another name");
  }
  RecordCompressor compressor(options.compression);
  std::unique_ptr<FileSink> file = create_sink(path, options.expected_bytes);
  impl_ = std::make_unique<Impl>(Impl{.path = std::move(path),
                                      .schema = std::move(schema),
                                      .options = std::move(options),
                                      .out = BufferedWriter<FileSink>(std::move(file)),
                                      .compressor = std::move(compressor)});
  for (size_t i = 0; i < impl_->schema.fields.size(); ++i) {
    const Field& field = impl_->schema.fields[i];
    if (!field.column) continue;
    const std::string name = "column/" + field.name;
    if (field.type == FieldType::string) {
      impl_->columns.push_back({i, StreamWriter(name + "/ends"), StreamWriter(name + "/text")});
    } else {
      impl_->columns.push_back({i, StreamWriter(name), std::nullopt});
    }
  }
  impl_->out.write(
      encode_header({.alignment = impl_->options.alignment, .uuid = impl_->options.uuid}));
}

ShardWriter::~ShardWriter() = default;

int64_t ShardWriter::append(std::span<const std::byte> record) {
  return append(record, impl_->compressor.compress(record));
}

int64_t ShardWriter::append(std::span<const std::byte> record, const StoredRecord& stored,
                            const ContentSum& content) try {
  Impl& self = *impl_;
  const RecordView view(self.schema, record);
  for (ColumnWriter& column : self.columns) {
    const Field& field = self.schema.fields[column.field];
    const size_t bytes = view.raw(column.field).size();
    if (field.type == FieldType::scalar && !view.is_null(column.field) &&
        bytes != size_of(field.dtype)) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' has {} bytes, but a {} has {}", field.name, bytes,
                              to_string(field.dtype), size_of(field.dtype)),
                  {.path = self.path.string(), .record = self.num_records});
    }
  }

  const auto bytes = std::ssize(stored.bytes);
  const auto raw_bytes = std::ssize(record);
  const int64_t offset = place_record(self.out.end(), bytes, self.options.alignment);
  self.out.pad_to(offset);
  self.out.write(stored.bytes);
  self.entries.append(encode_entry({.offset = offset,
                                    .stored_bytes = bytes,
                                    .raw_bytes = raw_bytes,
                                    .checksum = stored.crc32c,
                                    .codec = stored.codec}));
  for (ColumnWriter& column : self.columns) column.append(view, self.schema.fields[column.field]);
  if (content != ContentSum()) {
    self.contents.resize(static_cast<size_t>(self.num_records));
    self.contents.push_back(content);
  }
  self.record_bytes += bytes;
  self.raw_bytes += raw_bytes;
  return self.num_records++;
} catch (const std::bad_alloc&) {
  rethrow_as_error(impl_->path, -1, kMoreMemory);
}

int64_t ShardWriter::num_records() const noexcept {
  return impl_->num_records;
}
int64_t ShardWriter::bytes_written() const noexcept {
  return impl_->out.end();
}

ShardSummary ShardWriter::finish() try {
  Impl& self = *impl_;
  self.out.pad_to(round_up(self.out.end(), kPageBytes));
  self.out.flush();
  FileSink& file = self.out.file();
  int64_t end = self.out.end();

  Catalog catalog{.num_records = self.num_records,
                  .record_bytes = self.record_bytes,
                  .raw_bytes = self.raw_bytes,
                  .schema = self.schema};
  const auto write_stream = [&](const StreamWriter& stream) {
    const auto number = static_cast<uint32_t>(catalog.streams.size());
    catalog.streams.push_back(stream.write(file, end, number));
    end += catalog.streams.back().num_pages() * kPageBytes;
  };
  write_stream(self.entries);
  for (const ColumnWriter& column : self.columns) {
    write_stream(column.values);
    if (column.text) write_stream(*column.text);
  }
  if (!self.contents.empty()) {
    self.contents.resize(static_cast<size_t>(self.num_records));
    StreamWriter stream(kContentsStream);
    for (const ContentSum& sum : self.contents) {
      stream.append(std::as_bytes(std::span(&sum.num_bytes, 1)));
      stream.append(std::as_bytes(std::span(&sum.hash, 1)));
    }
    write_stream(stream);
  }
  if (const auto& dictionary = self.options.compression.dictionary; !dictionary.empty()) {
    StreamWriter stream("dictionary");
    stream.append(dictionary);
    write_stream(stream);
  }

  const std::string json = encode_catalog(catalog);
  const auto catalog_bytes = std::as_bytes(std::span(json));
  const ShardTrailer trailer{.catalog_offset = end,
                             .catalog_bytes = std::ssize(json),
                             .catalog_crc32c = crc32c(catalog_bytes),
                             .num_records = self.num_records,
                             .file_bytes = end + std::ssize(json) + kTrailerBytes,
                             .uuid = self.options.uuid};
  file.write(catalog_bytes);
  file.write(encode_trailer(trailer));
  file.finish();
  return {.num_records = self.num_records,
          .file_bytes = trailer.file_bytes,
          .record_bytes = self.record_bytes,
          .raw_bytes = self.raw_bytes,
          .checksum = trailer.catalog_crc32c};
} catch (const std::bad_alloc&) {
  rethrow_as_error(impl_->path, -1, kMoreMemory);
}

}  // namespace ffkit
