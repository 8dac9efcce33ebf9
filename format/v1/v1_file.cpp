#include "v1/v1_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "shard/shard_file.h"
#include "shard/shard_layout.h"

namespace ffkit {
namespace {

class V1File final : public ShardFile {
 public:
  V1File(std::shared_ptr<const RandomReader> file, V1FileOptions options)
      : file_(std::move(file)), limits_(options.reader), labels_(std::move(options.labels)) {
    file_bytes_ = file_->size();
    read_header();
    payload_ = options.payload ? *options.payload : detect_payload();
    overhead_ = v1_overhead(payload_);
  }

  const V1Payload& payload() const { return payload_; }

  const std::filesystem::path& path() const override { return file_->path(); }
  std::shared_ptr<const RandomReader> reader() const override { return file_; }
  const Schema& schema() const override { return payload_.schema; }

  ShardFacts facts() const override {
    const int64_t record_bytes = file_bytes_ - kV1FixedBytes - kV1BytesPerRecord * num_records();
    ShardFacts facts{
        {num_records(), file_bytes_, record_bytes, /*raw_bytes=*/record_bytes, header_crc_}};
    facts.version = 1;
    facts.alignment = 1;
    if (stored_crc_ == 0) {
      facts.warning = "has no checksum of its header, so ffkit cannot detect damage to the header";
    }
    return facts;
  }

  RecordLocation locate(int64_t record) const override {
    const RecordLocation where = place_of(record);
    require_record_fits(where, record, file_->path(), limits_);
    return where;
  }

  std::span<const std::byte> unpack(int64_t record, const RecordLocation& where,
                                    std::span<const std::byte> stored,
                                    UnpackBuffers& buffers) const override {
    RecordBuilder builder(payload_.schema);
    V1Values values;
    const ErrorContext here = {
        .path = file_->path().string(), .record = record, .offset = where.offset};
    try {
      set_v1_fields(payload_, stored, buffers.pickle, builder, values);
    } catch (const Error& e) {
      throw e.within(here);
    }
    builder.encode(buffers.record);
    if (std::ssize(buffers.record) > where.raw_bytes) {
      throw Error(ErrorCode::unsupported, "the pickle contains one value several times", here);
    }
    return buffers.record;
  }

  std::vector<std::byte> scalar_column(size_t field) const override {
    if (!labels_.empty()) {
      const auto bytes = std::as_bytes(std::span(labels_));
      return {bytes.begin(), bytes.end()};
    }
    std::vector<std::byte> column;
    UnpackBuffers buffers;
    std::vector<std::byte> stored;
    for (int64_t i = 0; i < num_records(); ++i) {
      const RecordLocation where = locate(i);
      stored.resize(static_cast<size_t>(where.stored_bytes));
      file_->read_at(where.offset, stored);
      const RecordView view(schema(), unpack(i, where, stored, buffers));
      const auto value = view.raw(field);
      column.insert(column.end(), value.begin(), value.end());
      if (view.is_null(field)) column.resize(column.size() + size_of(schema().fields[field].dtype));
    }
    return column;
  }

  std::vector<std::string> string_column(size_t) const override { return {}; }  // there is none
  std::vector<ShardProblem> verify_index() const override { return {}; }        // done when opening

 private:
  int64_t num_records() const { return std::ssize(offsets_); }

  RecordLocation place_of(int64_t record) const {
    const auto i = static_cast<size_t>(record);
    const int64_t end = i + 1 < offsets_.size() ? offsets_[i + 1] : file_bytes_;
    const int64_t bytes = end - offsets_[i];
    // 0 stands for "no checksum", but is also that of no bytes.
    const bool has_checksum = checksums_[i] != 0 || bytes == 0;
    return {.offset = offsets_[i],
            .stored_bytes = bytes,
            .raw_bytes = bytes + overhead_,
            .checksum = checksums_[i],
            .checksum_type = has_checksum ? Checksum::crc32 : Checksum::none,
            .codec = Codec::v1};
  }

  [[noreturn]] void corrupt(const std::string& message) const {
    throw error_at(file_->path(), ErrorCode::corrupt, message + "; copy or make the file again");
  }

  void read_header() {
    std::array<std::byte, kV1FixedBytes> fixed;
    file_->read_at(0, fixed);
    stored_crc_ = load_le<uint32_t>(fixed.data());
    const auto count = load_le<int64_t>(fixed.data() + 4);
    if (count < 0 || count > (file_bytes_ - kV1FixedBytes) / kV1BytesPerRecord) {
      corrupt(fmt::format(
          "the file is not an FFRecord file: its header says that it has {} records", count));
    }
    const int64_t header_bytes = kV1FixedBytes + kV1BytesPerRecord * count;
    if (header_bytes > limits_.max_v1_header_bytes) {
      throw error_at(file_->path(), ErrorCode::unsupported,
                     "the header for {} records has {} bytes, more than the limit of {} bytes "
                     "(max_v1_header_bytes); split the file, or raise the limit",
                     count, header_bytes, limits_.max_v1_header_bytes);
    }
    // The offsets first, though they stand behind the checksums: what is no header is found out
    // before memory is taken for it.
    const int64_t end = read_offsets(count);
    header_crc_ = checksum_of(std::span(fixed).subspan(4), Checksum::crc32);
    read_table<uint32_t>(kV1FixedBytes, count, header_crc_,
                         [&](uint32_t checksum) { checksums_.push_back(checksum); });
    header_crc_ = static_cast<uint32_t>(crc32_combine(header_crc_, offsets_crc_, 8 * count));
    if (stored_crc_ != 0 && stored_crc_ != header_crc_) {
      corrupt(fmt::format("the header is damaged: its CRC-32 is {:08x}, but must be {:08x}",
                          header_crc_, stored_crc_));
    }
    if (end > file_bytes_ || (count == 0 && end != file_bytes_)) {
      corrupt(fmt::format(
          "the file was cut off: it has {} bytes, but its last record begins at byte {}",
          file_bytes_, end));
    }
  }

  // Returns where the last record begins, or the first would.
  int64_t read_offsets(int64_t count) {
    int64_t end = kV1FixedBytes + kV1BytesPerRecord * count;
    read_table<int64_t>(kV1FixedBytes + 4 * count, count, offsets_crc_, [&](int64_t offset) {
      if (offsets_.empty() ? offset != end : offset < end) {
        corrupt(fmt::format("the header is damaged: it says that record {} begins at byte {}",
                            offsets_.size(), offset));
      }
      offsets_.push_back(offset);
      end = offset;
    });
    return end;
  }

  // Calls take(number) for `count` numbers from `offset` of the file on, and adds their bytes to
  // `crc`.
  template <typename T, typename Take>
  void read_table(int64_t offset, int64_t count, uint32_t& crc, const Take& take) {
    constexpr int64_t kNumbersPerRead = (1 << 20) / sizeof(T);
    std::vector<std::byte> bytes;
    for (int64_t first = 0; first < count; first += kNumbersPerRead) {
      bytes.resize(sizeof(T) * static_cast<size_t>(std::min(kNumbersPerRead, count - first)));
      file_->read_at(offset + static_cast<int64_t>(sizeof(T)) * first, bytes);
      crc = static_cast<uint32_t>(
          crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
      for (size_t at = 0; at < bytes.size(); at += sizeof(T)) take(load_le<T>(bytes.data() + at));
    }
  }

  // By the first record that is undamaged and not too long; where its values are no fields, by
  // more than half of the first ones. More than a few damaged ones are no chance.
  V1Payload detect_payload() const {
    constexpr int64_t kMaxTried = 16;
    Pickle pickle;
    std::vector<std::byte> stored;
    std::vector<V1Payload> found;
    for (int64_t i = 0; i < std::min(num_records(), kMaxTried); ++i) {
      const RecordLocation where = place_of(i);
      if (!fits(where, limits_)) continue;
      stored.resize(static_cast<size_t>(where.stored_bytes));
      file_->read_at(where.offset, stored);
      if (!has_checksum(where, stored)) continue;
      found.push_back(find_v1_payload(stored, pickle));
      if (found.front().kind != V1Payload::Kind::raw) return found.front();
      std::string& why = found.back().why_raw;
      if (!why.empty()) why = fmt::format("record {}: {}", i, why);
    }
    for (const V1Payload& payload : found) {
      if (2 * std::ranges::count(found, payload) > std::ssize(found)) return payload;
    }
    return raw_v1_payload();
  }

  std::shared_ptr<const RandomReader> file_;
  ShardReaderOptions limits_;
  int64_t file_bytes_ = 0;
  uint32_t stored_crc_ = 0;
  uint32_t header_crc_ = 0;   // as computed
  uint32_t offsets_crc_ = 0;  // of the part of the header
  std::vector<uint32_t> checksums_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> labels_;
  V1Payload payload_;
  int64_t overhead_ = 0;
};

}  // namespace

bool looks_like_v1(const RandomReader& file) {
  const int64_t size = file.size();
  if (size < kV1FixedBytes) return false;
  std::array<std::byte, kV1FixedBytes> fixed;
  file.read_at(0, fixed);
  if (has_v2_magic(fixed)) return false;
  const auto count = load_le<int64_t>(fixed.data() + 4);
  return count >= 0 && count <= (size - kV1FixedBytes) / kV1BytesPerRecord;
}

std::unique_ptr<ShardFile> open_v1_file(std::shared_ptr<const RandomReader> file,
                                        V1FileOptions options) {
  return std::make_unique<V1File>(std::move(file), std::move(options));
}

V1Payload v1_payload_of(const std::filesystem::path& path, const ShardReaderOptions& options) {
  return V1File(open_random_reader(path), {.reader = options}).payload();
}

}  // namespace ffkit
