#include <ffkit/format/content_sum.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_reader.h>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "reader/open_shards.h"
#include "record/record_layout.h"
#include "shard/shard_file.h"
#include "shard/shard_layout.h"
#include "v1/v1_file.h"

namespace ffkit {

std::unique_ptr<ShardFile> open_shard_file(const std::filesystem::path& path,
                                           const ShardReaderOptions& options) {
  return open_shard_file(open_random_reader(path), options);
}

std::unique_ptr<ShardFile> open_shard_file(std::shared_ptr<const RandomReader> file,
                                           const ShardReaderOptions& options) {
  if (looks_like_v1(*file)) return open_v1_file(std::move(file), {.reader = options});
  return open_v2_file(std::move(file), options);
}

std::vector<std::byte> ShardReader::stream(const std::string& name) const {
  return shard_errors_only(path(), -1, [&] { return file_->stream(name); });
}

std::vector<ContentSum> kept_contents(const ShardReader& shard) {
  const std::vector<std::byte> bytes = shard.stream(kContentsStream);
  std::vector<ContentSum> contents(bytes.size() / kContentBytes);
  for (size_t i = 0; i < contents.size(); ++i) {
    const std::byte* const at = bytes.data() + i * kContentBytes;
    contents[i] = {.num_bytes = load_le<uint64_t>(at), .hash = load_le<uint64_t>(at + 8)};
  }
  return contents;
}

namespace {

const Field& column_field(const ShardReader& shard, const std::string& name, size_t& position) {
  position = shard.schema().require(name);
  const Field& field = shard.schema().fields[position];
  if (!field.column) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("field '{}' is not a column, because its values are not in the index", name),
        {.path = shard.path().string(), .subject = ErrorSubject::field, .name = name});
  }
  return field;
}

[[noreturn]] void wrong_column_type(const ShardReader& shard, const Field& field,
                                    const char* wanted) {
  throw error_at(shard.path(), ErrorCode::invalid_argument,
                 "column '{}' contains values of type {}{}{}, not {}", field.name,
                 to_string(field.type), has_dtype(field) ? " " : "",
                 has_dtype(field) ? to_string(field.dtype) : "", wanted);
}

// The numbers of a column, as Ts.
template <typename T>
std::vector<T> convert_column(std::span<const std::byte> bytes, DType dtype) {
  return visit_dtype(dtype, [&](auto type) {
    using Stored = typename decltype(type)::type;
    std::vector<T> values(bytes.size() / sizeof(Stored));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto number = load_number<Stored>(bytes.data() + i * sizeof(Stored));
      if constexpr (std::is_same_v<Stored, uint64_t> && std::is_same_v<T, int64_t>) {
        if (!std::in_range<int64_t>(number)) {
          throw error_of(ErrorCode::invalid_argument,
                         "{} in a column of u64 is too large for a signed integer of 64 bits; read "
                         "the column with uint_column",
                         number);
        }
      }
      if constexpr (std::is_arithmetic_v<Stored>) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): an i8 is a number.
        values[i] = static_cast<T>(number);
      } else {
        values[i] = static_cast<T>(static_cast<double>(number));  // 16-bit floats
      }
    }
    return values;
  });
}

}  // namespace

ShardReader::ShardReader(const std::filesystem::path& path, const ShardReaderOptions& options)
    : ShardReader(shard_errors_only(path, -1, [&] { return open_shard_file(path, options); }),
                  options) {}
ShardReader::ShardReader(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options)
    : file_(std::move(file)), options_(options), num_records_(file_->summary().num_records) {}
ShardReader reader_of(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options) {
  return {std::move(file), options};
}
ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;
ShardReader& ShardReader::operator=(ShardReader&&) noexcept = default;

const std::filesystem::path& ShardReader::path() const {
  return file_->path();
}
ShardReader::OpenFile ShardReader::open_file(int64_t offset, int64_t num_bytes) const {
  return shard_errors_only(path(), -1, [&] {
    std::shared_ptr<const RandomReader> reader = file_->reader();
    const int descriptor =
        num_bytes > 0 ? reader->descriptor_of(offset, num_bytes) : reader->descriptor();
    const bool is_coming = descriptor < 0 && num_bytes > 0 && reader->is_coming(offset, num_bytes);
    return OpenFile{descriptor, std::move(reader), is_coming};
  });
}
void ShardReader::OpenFile::read(int64_t offset, std::span<std::byte> out,
                                 std::function<void(std::exception_ptr)> done) const {
  reader->read(offset, out, [reader = reader, done = std::move(done)](std::exception_ptr error) {
    try {
      if (error != nullptr) std::rethrow_exception(error);
    } catch (...) {
      try {
        rethrow_as_shard_error(reader->path(), -1);
      } catch (...) {
        error = std::current_exception();
      }
    }
    done(std::move(error));
  });
}
bool ShardReader::is_local() const {
  return file_->is_local();
}
bool ShardReader::is_kept_open() const noexcept {
  return file_->is_kept_open();
}
const Schema& ShardReader::schema() const {
  return file_->schema();
}
ShardFacts ShardReader::facts() const {
  return shard_errors_only(path(), -1, [&] { return file_->facts(); });
}
ShardSummary ShardReader::summary() const {
  return file_->summary();
}

RecordLocation ShardReader::locate(int64_t record) const {
  if (record < 0 || record >= num_records_) {
    throw error_at(path(), ErrorCode::invalid_argument,
                   "there is no record {}; the shard has {} records, and the first is record 0",
                   record, num_records_);
  }
  return shard_errors_only(path(), record, [&] { return file_->locate(record); });
}

void ShardReader::will_locate(int64_t record) const {
  file_->will_locate(record);
}

std::span<const std::byte> ShardReader::read(int64_t record, std::vector<std::byte>& buffer,
                                             RecordUnpacker& unpacker) const {
  const RecordLocation where = locate(record);
  return shard_errors_only(path(), record, [&] {
    buffer.resize(static_cast<size_t>(where.stored_bytes));
    file_->reader()->read_at(where.offset, buffer, record);
    return unpacker.unpack(*this, record, where, buffer);
  });
}

void ShardReader::read(int64_t record, std::vector<std::byte>& out) const {
  RecordUnpacker unpacker;
  const auto unpacked = read(record, out, unpacker);
  if (unpacked.data() == out.data()) return;
  shard_errors_only(path(), record, [&] { out.assign(unpacked.begin(), unpacked.end()); });
}

bool ShardReader::read_field(int64_t record, size_t field, std::vector<std::byte>& out) const {
  const size_t num_fields = schema().fields.size();
  if (field >= num_fields) {
    throw error_at(path(), ErrorCode::invalid_argument,
                   "there is no field {}; the schema has {} fields, and the first is field 0",
                   field, num_fields);
  }
  return shard_errors_only(path(), record, [&] {
    return without_damaged_copy(*file_->reader(),
                                [&] { return read_field_of_record(record, field, out); });
  });
}

bool ShardReader::read_field_of_record(int64_t record, size_t field,
                                       std::vector<std::byte>& out) const {
  const size_t num_fields = schema().fields.size();
  const RecordLocation where = locate(record);
  if (where.codec != Codec::none) {
    std::vector<std::byte> whole;
    read(record, whole);
    const FieldView view = RecordView(schema(), whole, {&path(), record}).field(field);
    out.assign(view.raw().begin(), view.raw().end());
    return !view.is_null();
  }
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorCode::corrupt,
                fmt::format("field '{}' {}; copy or convert the shard again",
                            schema().fields[field].name, message),
                {.path = path().string(), .record = record, .offset = where.offset});
  };
  const auto stored = static_cast<uint64_t>(where.stored_bytes);
  std::vector<std::byte> table(table_bytes(num_fields));
  if (table.size() > stored) fail("cannot be found: the record is too short for its table");
  file_->reader()->read_at(where.offset, table, record);
  const FieldPlace place = place_of_field(table, num_fields, field);
  if (place.begin < table.size() || place.end < place.begin || place.end > stored ||
      (place.is_null && place.end != place.begin)) {
    fail(fmt::format("ends at byte {}, but the record has {} bytes", place.end, stored));
  }
  out.resize(place.end - place.begin);
  file_->reader()->read_at(where.offset + static_cast<int64_t>(place.begin), out, record);
  if (const uint32_t crc = field_crc(place, out); crc != place.crc32c) {
    fail(fmt::format("is damaged: its CRC-32C is {:08x}, expected {:08x}", crc, place.crc32c));
  }
  return !place.is_null;
}

void ShardReader::announce(int64_t offset, int64_t num_bytes) const noexcept {
  try {
    file_->reader()->announce(offset, num_bytes);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // The read itself says what is wrong with the shard.
  }
}

std::vector<int64_t> ShardReader::int_column(const std::string& name) const {
  size_t position = 0;
  const Field& field = column_field(*this, name, position);
  if (field.type != FieldType::scalar || !is_integer(field.dtype)) {
    wrong_column_type(*this, field, "integers");
  }
  return shard_errors_only(path(), -1, [&] {
    return convert_column<int64_t>(file_->scalar_column(position), field.dtype);
  });
}

std::vector<uint64_t> ShardReader::uint_column(const std::string& name) const {
  size_t position = 0;
  const Field& field = column_field(*this, name, position);
  const bool is_unsigned = field.dtype == DType::u8 || field.dtype == DType::u16 ||
                           field.dtype == DType::u32 || field.dtype == DType::u64;
  if (field.type != FieldType::scalar || !is_unsigned) {
    wrong_column_type(*this, field, "unsigned integers");
  }
  return shard_errors_only(path(), -1, [&] {
    return convert_column<uint64_t>(file_->scalar_column(position), field.dtype);
  });
}

std::vector<double> ShardReader::float_column(const std::string& name) const {
  size_t position = 0;
  const Field& field = column_field(*this, name, position);
  if (field.type != FieldType::scalar || is_integer(field.dtype)) {
    wrong_column_type(*this, field, "floating-point numbers");
  }
  return shard_errors_only(path(), -1, [&] {
    return convert_column<double>(file_->scalar_column(position), field.dtype);
  });
}

std::vector<std::string> ShardReader::string_column(const std::string& name) const {
  size_t position = 0;
  const Field& field = column_field(*this, name, position);
  if (field.type != FieldType::string) wrong_column_type(*this, field, "strings");
  return shard_errors_only(path(), -1, [&] { return file_->string_column(position); });
}

std::vector<ShardProblem> ShardReader::verify_index() const {
  return shard_errors_only(path(), -1, [&] { return file_->verify_index(); });
}

std::optional<ShardProblem> ShardReader::verify_record(int64_t record, OptionStyle style) const {
  int64_t offset = -1;
  try {
    offset = locate(record).offset;
    std::vector<std::byte> bytes;
    read(record, bytes);
    RecordView(schema(), bytes).verify_fields();
  } catch (const Error& e) {
    const bool is_named = !e.context().path.empty();
    const Error named =
        is_named ? e : e.within({.path = path().string(), .record = record, .offset = offset});
    return ShardProblem{
        .record = record, .offset = named.context().offset, .message = named.text(style)};
  }
  return std::nullopt;
}

std::vector<ShardProblem> ShardReader::verify() const {
  std::vector<ShardProblem> problems = verify_index();
  for (int64_t i = 0; i < num_records_; ++i) {
    if (auto problem = verify_record(i)) problems.push_back(std::move(*problem));
  }
  return problems;
}

RecordUnpacker::RecordUnpacker() : buffers_(std::make_unique<UnpackBuffers>()) {}
RecordUnpacker::~RecordUnpacker() = default;
RecordUnpacker::RecordUnpacker(RecordUnpacker&&) noexcept = default;
RecordUnpacker& RecordUnpacker::operator=(RecordUnpacker&&) noexcept = default;

std::span<const std::byte> RecordUnpacker::unpack(const ShardReader& shard, int64_t record,
                                                  const RecordLocation& where,
                                                  std::span<const std::byte> stored,
                                                  bool verify_checksum) {
  return shard_errors_only(shard.path(), record, [&] {
    const bool is_damaged = verify_checksum && !has_checksum(where, stored);
    // What a damaged copy on this machine gave is read anew.
    if (is_damaged && shard.file_->reader()->drop_damaged_copy(where.offset, where.stored_bytes)) {
      std::vector<std::byte>& anew = buffers_->read_anew;
      anew.resize(stored.size());
      shard.file_->reader()->read_at(where.offset, anew, record);
      stored = anew;
    }
    if (is_damaged && !has_checksum(where, stored)) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format("the record is damaged: the {} of its {} bytes is {:08x}, but must be "
                      "{:08x}; copy or convert the shard again",
                      where.checksum_type == Checksum::crc32c ? "CRC-32C" : "CRC-32", stored.size(),
                      checksum_of(stored, where.checksum_type), where.checksum),
          {.path = shard.path().string(), .record = record, .offset = where.offset});
    }
    return shard.file_->unpack(record, where, stored, *buffers_);
  });
}

}  // namespace ffkit
