#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <ffkit/format/crc32c.h>
#include <ffkit/format/error.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>

#include "file.h"
#include "little_endian.h"
#include "shard_layout.h"
#include "stream_reader.h"

namespace ffkit {
namespace {

// Opening reads this much of the file's end at once: trailer and, nearly always, the whole catalog.
constexpr int64_t kTailBytes = 16 << 10;

int64_t int_from(const std::byte* p, DType dtype) {
  switch (dtype) {
    case DType::u8:
      return load_le<uint8_t>(p);
    case DType::i8:
      return load_le<int8_t>(p);
    case DType::u16:
      return load_le<uint16_t>(p);
    case DType::i16:
      return load_le<int16_t>(p);
    case DType::u32:
      return load_le<uint32_t>(p);
    case DType::i32:
      return load_le<int32_t>(p);
    default:
      return load_le<int64_t>(p);
  }
}

}  // namespace

struct ShardReader::Impl {
  File file;
  ShardHeader header;
  ShardTrailer trailer;
  Catalog catalog;
  std::unique_ptr<StreamReader> entries;

  explicit Impl(std::filesystem::path path) : file(File::open_for_reading(std::move(path))) {
    const std::string name = file.path().string();
    const int64_t size = file.size();
    if (size < kHeaderBytes + kTrailerBytes) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format("has {} bytes, too few for a shard; copy or convert the shard again", size),
          {.path = name});
    }
    std::array<std::byte, kHeaderBytes> head;
    file.read_at(0, head);
    header = decode_header(head, name);

    std::vector<std::byte> tail(static_cast<size_t>(std::min(size, kTailBytes)));
    const auto tail_bytes = static_cast<int64_t>(tail.size());
    file.read_at(size - tail_bytes, tail);
    trailer = decode_trailer(std::span<const std::byte, kTrailerBytes>(
                                 tail.data() + tail_bytes - kTrailerBytes, kTrailerBytes),
                             name, size);
    if (trailer.uuid != header.uuid) {
      throw Error(ErrorCode::corrupt,
                  "header and trailer are of different shards; copy or convert the shard again",
                  {.path = name});
    }
    std::vector<std::byte> json(static_cast<size_t>(trailer.catalog_bytes));
    const int64_t tail_start = size - tail_bytes;
    if (trailer.catalog_offset >= tail_start) {
      std::memcpy(json.data(), tail.data() + (trailer.catalog_offset - tail_start), json.size());
    } else {
      file.read_at(trailer.catalog_offset, json);
    }
    if (const uint32_t crc = crc32c(json); crc != trailer.catalog_crc32c) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format(
              "the catalog is damaged: CRC-32C is {:08x}, expected {:08x}; copy or convert the "
              "shard again",
              crc, trailer.catalog_crc32c),
          {.path = name, .offset = trailer.catalog_offset});
    }
    catalog = decode_catalog({reinterpret_cast<const char*>(json.data()), json.size()}, name,
                             trailer.catalog_offset);
    if (catalog.num_records != trailer.num_records) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("the catalog counts {} records, the trailer {}", catalog.num_records,
                              trailer.num_records),
                  {.path = name});
    }
    const size_t number = stream_number("entries");
    entries = std::make_unique<StreamReader>(file, catalog.streams[number],
                                             static_cast<uint32_t>(number));
  }

  size_t stream_number(const std::string& name) const {
    return static_cast<size_t>(std::ranges::find(catalog.streams, name, &StreamInfo::name) -
                               catalog.streams.begin());
  }

  std::vector<std::byte> read_stream(const std::string& name) const {
    const size_t number = stream_number(name);
    return StreamReader(file, catalog.streams[number], static_cast<uint32_t>(number)).read_all();
  }

  const Field& column_field(const std::string& name) const {
    const Field& field = catalog.schema.fields[catalog.schema.require(name)];
    if (!field.column) {
      throw Error(ErrorCode::not_found, fmt::format("field '{}' is not kept as a column", name),
                  {.path = file.path().string()});
    }
    return field;
  }

  [[noreturn]] void wrong_column_type(const Field& field, const char* wanted) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' holds {} {}, not {}", field.name, to_string(field.type),
                            field.type == FieldType::scalar ? to_string(field.dtype) : "", wanted),
                {.path = file.path().string()});
  }

  void check_location(const RecordLocation& where, int64_t record) const {
    const char* problem = nullptr;
    if (where.offset < kHeaderBytes || where.stored_bytes < 1 ||
        where.offset > trailer.catalog_offset ||
        where.stored_bytes > trailer.catalog_offset - where.offset) {
      problem = "its index entry points outside of the shard";
    } else if (where.codec == 0 && where.raw_bytes != where.stored_bytes) {
      problem = "its index entry has two lengths";
    }
    if (problem != nullptr) {
      throw Error(ErrorCode::corrupt, fmt::format("{}; copy or convert the shard again", problem),
                  {.path = file.path().string(), .record = record, .offset = where.offset});
    }
    if (where.codec != 0) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("the record is stored with codec {}, which this program does not "
                              "know; use a newer ffkit",
                              where.codec),
                  {.path = file.path().string(), .record = record, .offset = where.offset});
    }
  }
};

ShardReader::ShardReader(std::filesystem::path path)
    : impl_(std::make_unique<Impl>(std::move(path))) {}
ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;
ShardReader& ShardReader::operator=(ShardReader&&) noexcept = default;

const std::filesystem::path& ShardReader::path() const {
  return impl_->file.path();
}
const Schema& ShardReader::schema() const {
  return impl_->catalog.schema;
}
int64_t ShardReader::num_records() const {
  return impl_->catalog.num_records;
}
int64_t ShardReader::file_bytes() const {
  return impl_->trailer.file_bytes;
}
uint32_t ShardReader::alignment() const {
  return impl_->header.alignment;
}
uint32_t ShardReader::catalog_crc32c() const {
  return impl_->trailer.catalog_crc32c;
}
const std::array<uint8_t, 16>& ShardReader::uuid() const {
  return impl_->header.uuid;
}

RecordLocation ShardReader::locate(int64_t record) const {
  if (record < 0 || record >= num_records()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no record {}; the shard has {}", record, num_records()),
                {.path = path().string()});
  }
  const RecordLocation where = decode_entry(impl_->entries->at(record * kEntryBytes));
  impl_->check_location(where, record);
  return where;
}

void ShardReader::read(int64_t record, std::vector<std::byte>& out) const {
  const RecordLocation where = locate(record);
  out.resize(static_cast<size_t>(where.stored_bytes));
  impl_->file.read_at(where.offset, out);
  if (const uint32_t crc = crc32c(out); crc != where.crc32c) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format(
            "the record is damaged: CRC-32C of its {} bytes is {:08x}, expected {:08x}; copy or "
            "convert the shard again",
            where.stored_bytes, crc, where.crc32c),
        {.path = path().string(), .record = record, .offset = where.offset});
  }
}

std::vector<int64_t> ShardReader::int_column(const std::string& name) const {
  const Field& field = impl_->column_field(name);
  if (field.type != FieldType::scalar || field.dtype == DType::f16 || field.dtype == DType::bf16 ||
      field.dtype == DType::f32 || field.dtype == DType::f64) {
    impl_->wrong_column_type(field, "integers");
  }
  const auto bytes = impl_->read_stream("column/" + name);
  const size_t width = size_of(field.dtype);
  std::vector<int64_t> values(static_cast<size_t>(num_records()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = int_from(bytes.data() + i * width, field.dtype);
  return values;
}

std::vector<double> ShardReader::float_column(const std::string& name) const {
  const Field& field = impl_->column_field(name);
  if (field.type != FieldType::scalar || (field.dtype != DType::f32 && field.dtype != DType::f64)) {
    impl_->wrong_column_type(field, "f32 or f64");
  }
  const auto bytes = impl_->read_stream("column/" + name);
  std::vector<double> values(static_cast<size_t>(num_records()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (field.dtype == DType::f32) {
      float value;
      std::memcpy(&value, bytes.data() + 4 * i, sizeof(value));
      values[i] = value;
    } else {
      std::memcpy(&values[i], bytes.data() + 8 * i, sizeof(double));
    }
  }
  return values;
}

std::vector<std::string> ShardReader::string_column(const std::string& name) const {
  const Field& field = impl_->column_field(name);
  if (field.type != FieldType::string) impl_->wrong_column_type(field, "strings");
  const auto ends = impl_->read_stream("column/" + name + "/ends");
  const auto text = impl_->read_stream("column/" + name + "/text");
  std::vector<std::string> values(static_cast<size_t>(num_records()));
  uint64_t begin = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto end = load_le<uint64_t>(ends.data() + 8 * i);
    if (end < begin || end > text.size()) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("column '{}' ends at byte {} of {}", name, end, text.size()),
                  {.path = path().string(), .record = static_cast<int64_t>(i)});
    }
    values[i].assign(reinterpret_cast<const char*>(text.data()) + begin, end - begin);
    begin = end;
  }
  return values;
}

std::vector<ShardProblem> ShardReader::verify() const {
  std::vector<ShardProblem> problems;
  const auto note = [&](const Error& e, int64_t record) {
    problems.push_back({.record = record, .offset = e.context().offset, .message = e.what()});
  };
  for (const StreamInfo& stream : impl_->catalog.streams) {
    try {
      impl_->read_stream(stream.name);
    } catch (const Error& e) {
      note(e, -1);
    }
  }
  std::vector<std::byte> record;
  int64_t record_bytes = 0;
  for (int64_t i = 0; i < num_records(); ++i) {
    try {
      read(i, record);
      record_bytes += static_cast<int64_t>(record.size());
      RecordView view(schema(), record);
    } catch (const Error& e) {
      note(e, i);
    }
  }
  if (problems.empty() && record_bytes != impl_->catalog.record_bytes) {
    problems.push_back(
        {.message = fmt::format("{}: the records have {} bytes, the catalog says {}",
                                path().string(), record_bytes, impl_->catalog.record_bytes)});
  }
  return problems;
}

}  // namespace ffkit
