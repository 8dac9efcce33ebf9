#include <new>
#include <vector>

#include <ffkit/format/v1_writer.h>

#include "base/file/file.h"
#include "base/little_endian.h"
#include "base/make_error.h"
#include "shard/buffered_writer.h"
#include "v1/v1_file.h"

namespace ffkit {

struct V1Writer::Impl {
  std::filesystem::path path;
  std::filesystem::path temporary;
  int64_t num_records = 0;  // promised
  BufferedWriter<File> out;
  std::vector<uint32_t> checksums = {};
  std::vector<int64_t> offsets = {};
  bool is_finished = false;

  [[noreturn]] void refuse(const std::string& message) const {
    throw error_at(path, ErrorCode::invalid_argument, message);
  }

  std::vector<std::byte> header() const {
    std::vector<std::byte> bytes(
        static_cast<size_t>(kV1FixedBytes + kV1BytesPerRecord * num_records));
    store_le(bytes.data() + 4, num_records);
    std::byte* next = bytes.data() + kV1FixedBytes;
    for (const uint32_t checksum : checksums) {
      store_le(next, checksum);
      next += sizeof(checksum);
    }
    for (const int64_t offset : offsets) {
      store_le(next, offset);
      next += sizeof(offset);
    }
    store_le(bytes.data(), checksum_of(std::span(bytes).subspan(4), Checksum::crc32));
    return bytes;
  }
};

V1Writer::V1Writer(std::filesystem::path path, int64_t num_records) {
  const auto refuse = [&path](const std::string& message) {
    throw error_at(path, ErrorCode::invalid_argument, message);
  };
  if (num_records < 0 || num_records > kMaxV1Records) {
    refuse(
        fmt::format("an FFRecord v1 file can have 0 to {} records, but not {}; write several files",
                    kMaxV1Records, num_records));
  }
  if (errors_only(path, [&] { return std::filesystem::exists(path); })) {
    refuse("the file exists already, and it is not overwritten; give another name");
  }
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  File file = File::create(temporary);
  impl_ =
      std::make_unique<Impl>(Impl{.path = std::move(path),
                                  .temporary = std::move(temporary),
                                  .num_records = num_records,
                                  .out = BufferedWriter(std::make_unique<File>(std::move(file)))});
  // Zeros in place of the header until finish(): they claim 0 records, which nothing behind them
  // agrees with.
  impl_->out.pad_to(kV1FixedBytes + kV1BytesPerRecord * num_records);
}

V1Writer::~V1Writer() {
  if (impl_ == nullptr || impl_->is_finished) return;
  std::error_code ignored;
  std::filesystem::remove(impl_->temporary, ignored);
}

int64_t V1Writer::append(std::span<const std::byte> record) try {
  Impl& self = *impl_;
  const auto number = std::ssize(self.offsets);
  if (number == self.num_records) {
    self.refuse(
        fmt::format("the file was started for {} records, but the program appended one more record",
                    self.num_records));
  }
  self.checksums.push_back(checksum_of(record, Checksum::crc32));
  self.offsets.push_back(self.out.end());
  self.out.write(record);
  return number;
} catch (const std::bad_alloc&) {
  rethrow_as_error(impl_->path, -1, kMoreMemory);
}

int64_t V1Writer::finish() try {
  Impl& self = *impl_;
  if (std::ssize(self.offsets) != self.num_records) {
    self.refuse(fmt::format("the file was started for {} records, but it has only {} records",
                            self.num_records, self.offsets.size()));
  }
  self.out.flush();
  self.out.file().write_at(0, self.header());
  self.out.file().sync();
  self.out.file().close();
  rename_durably(self.temporary, self.path);
  self.is_finished = true;
  return self.out.end();
} catch (const std::bad_alloc&) {
  rethrow_as_error(impl_->path, -1, kMoreMemory);
}

}  // namespace ffkit
