#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include <ffkit/format/error.h>
#include <ffkit/format/v1_writer.h>

#include "file.h"
#include "little_endian.h"

namespace ffkit {
namespace {

constexpr size_t kWriteBufferBytes = 1 << 20;
constexpr int64_t kFixedBytes = 12;      // CRC and number of records
constexpr int64_t kBytesPerRecord = 12;  // checksum and offset

uint32_t crc32_of(std::span<const std::byte> data) {
  if (data.empty()) return 0;  // zlib takes a null pointer for a wish to begin anew
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

}  // namespace

struct V1Writer::Impl {
  std::filesystem::path path;
  std::filesystem::path temporary;
  int64_t num_records = 0;  // promised
  File file;
  std::vector<std::byte> buffer = {};
  std::vector<uint32_t> checksums = {};
  std::vector<int64_t> offsets = {};
  int64_t end = 0;
  bool is_finished = false;

  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorCode::invalid_argument, message, {.path = path.string()});
  }

  void write(std::span<const std::byte> data) {
    if (buffer.size() + data.size() > kWriteBufferBytes) flush();
    if (data.size() >= kWriteBufferBytes) {
      file.write(data);
    } else {
      buffer.insert(buffer.end(), data.begin(), data.end());
    }
    end += static_cast<int64_t>(data.size());
  }

  void flush() {
    file.write(buffer);
    buffer.clear();
  }

  std::vector<std::byte> header() const {
    std::vector<std::byte> bytes(static_cast<size_t>(kFixedBytes + kBytesPerRecord * num_records));
    store_le(bytes.data() + 4, num_records);
    std::byte* next = bytes.data() + kFixedBytes;
    for (const uint32_t checksum : checksums) {
      store_le(next, checksum);
      next += sizeof(checksum);
    }
    for (const int64_t offset : offsets) {
      store_le(next, offset);
      next += sizeof(offset);
    }
    store_le(bytes.data(), crc32_of(std::span(bytes).subspan(4)));
    return bytes;
  }
};

V1Writer::V1Writer(std::filesystem::path path, int64_t num_records) {
  const auto refuse = [&path](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message, {.path = path.string()});
  };
  if (num_records < 0 ||
      num_records > std::numeric_limits<int64_t>::max() / (2 * kBytesPerRecord)) {
    refuse(fmt::format("a file cannot have {} records", num_records));
  }
  if (std::filesystem::exists(path)) refuse("exists already; nothing is overwritten");
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  File file = File::create(temporary);
  impl_ = std::make_unique<Impl>(Impl{.path = std::move(path),
                                      .temporary = std::move(temporary),
                                      .num_records = num_records,
                                      .file = std::move(file)});
  impl_->buffer.reserve(kWriteBufferBytes);
  // Zeros in place of the header until finish(): they claim 0 records, which nothing behind them agrees with.
  static constexpr std::array<std::byte, 4096> kZeros{};
  const int64_t header_bytes = kFixedBytes + kBytesPerRecord * num_records;
  while (impl_->end < header_bytes) {
    impl_->write(std::span(kZeros).first(
        static_cast<size_t>(std::min<int64_t>(4096, header_bytes - impl_->end))));
  }
}

V1Writer::~V1Writer() {
  if (impl_ == nullptr || impl_->is_finished) return;
  std::error_code ignored;
  std::filesystem::remove(impl_->temporary, ignored);
}

int64_t V1Writer::append(std::span<const std::byte> record) {
  Impl& self = *impl_;
  const auto number = static_cast<int64_t>(self.offsets.size());
  if (number == self.num_records) {
    self.refuse(fmt::format("was begun for {} records, and this is one more", self.num_records));
  }
  self.checksums.push_back(crc32_of(record));
  self.offsets.push_back(self.end);
  self.write(record);
  return number;
}

int64_t V1Writer::finish() {
  Impl& self = *impl_;
  if (static_cast<int64_t>(self.offsets.size()) != self.num_records) {
    self.refuse(fmt::format("was begun for {} records, but has only {}", self.num_records,
                            self.offsets.size()));
  }
  self.flush();
  self.file.write_at(0, self.header());
  self.file.sync();
  self.file.close();
  rename_durably(self.temporary, self.path);
  self.is_finished = true;
  return self.end;
}

}  // namespace ffkit
