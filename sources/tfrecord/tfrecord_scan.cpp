#include "tfrecord/tfrecord_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <ffkit/base/crc32c.h>

#include "converter/input/source_error.h"
#include "files/file_window.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr size_t kTfHeaderBytes = sizeof(uint64_t) + kTfRecordCrcBytes;
constexpr size_t kTfWindowBytes = 4 << 20;

uint32_t masked_crc(std::span<const std::byte> data) {
  constexpr uint32_t kMask = 0xA282EAD8;
  const uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + kMask;
}

template <typename T>
T little_endian(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

bool begins_with(std::span<const std::byte> head, std::string_view signature) {
  return head.size() >= signature.size() &&
         std::memcmp(head.data(), signature.data(), signature.size()) == 0;
}

// Of a file whose first record is none.
Error no_tfrecord_error(const std::filesystem::path& path, std::span<const std::byte> head) {
  using namespace std::string_view_literals;
  constexpr auto kRiegeli = "\x83\xAF\x70\xD1\x0D\x88\x4A\x3F"sv;
  if (begins_with(head, kRiegeli)) {
    return source_error(path, ErrorCode::unsupported,
                        "is a Riegeli file, as array_record writes it, and no TFRecord file");
  }
  for (const auto zlib : {"\x78\x01"sv, "\x78\x5E"sv, "\x78\x9C"sv, "\x78\xDA"sv}) {
    if (begins_with(head, zlib)) {
      return source_error(path, ErrorCode::unsupported,
                          "is zlib data, as TensorFlow writes it with compression_type='ZLIB'; "
                          "write it with 'GZIP' or without compression");
    }
  }
  const ContentKind kind = content_kind(head);
  if (kind == ContentKind::unknown) {
    return source_error(path, ErrorCode::corrupt,
                        "is no TFRecord file: the checksum of the first record's length is wrong");
  }
  return source_error(path, ErrorCode::unsupported, "is {}, and no TFRecord file",
                      content_name(kind));
}

}  // namespace

std::span<const std::byte> checked_tfrecord(std::span<const std::byte> data_and_crc) {
  if (data_and_crc.size() < kTfRecordCrcBytes) throw Error(ErrorCode::corrupt, "is cut short");
  const auto data = data_and_crc.first(data_and_crc.size() - kTfRecordCrcBytes);
  if (masked_crc(data) != little_endian<uint32_t>(data_and_crc.last(kTfRecordCrcBytes))) {
    throw Error(ErrorCode::corrupt, "is damaged: the checksum of its data is another one");
  }
  return data;
}

TfRecordPlaces scan_tfrecords(const std::filesystem::path& path, int64_t num_bytes,
                              const ReadBytes& read, int64_t max_bytes, const UseTfRecord& use) {
  TfRecordPlaces places;
  std::vector<FileRange>& records = places.records;
  FileWindow window(num_bytes, read, kTfWindowBytes, kTfWindowBytes);
  for (int64_t offset = 0; offset < num_bytes;) {
    // Nothing says where a record behind this place begins.
    const auto end_here = [&](const std::string& what) {
      if (records.empty()) {
        throw source_error(path, ErrorCode::corrupt, "record 0 {}; get the file again", what);
      }
      places.damage =
          fmt::format("{}; it and what follows, {} bytes, cannot be read; get the file again", what,
                      num_bytes - offset);
      use(std::ssize(records), {});
      records.push_back({offset, num_bytes - offset});
      return places;
    };
    const auto header = window.at(offset, kTfHeaderBytes);
    if (header.size() < kTfHeaderBytes) {
      if (offset == 0) throw no_tfrecord_error(path, window.at(0, kContentHeadBytes));
      return end_here("is cut short");
    }
    if (masked_crc(header.first(sizeof(uint64_t))) !=
        little_endian<uint32_t>(header.last(kTfRecordCrcBytes))) {
      if (offset == 0) throw no_tfrecord_error(path, window.at(0, kContentHeadBytes));
      return end_here("has a damaged length");
    }
    const auto length = little_endian<uint64_t>(header);
    const int64_t data = offset + static_cast<int64_t>(kTfHeaderBytes);
    const int64_t left = num_bytes - data;
    if (left < static_cast<int64_t>(kTfRecordCrcBytes) ||
        length > static_cast<uint64_t>(left) - kTfRecordCrcBytes) {
      return end_here(
          fmt::format("is cut short: it has {} bytes and {} of checksum, and {} are left of the "
                      "file",
                      length, kTfRecordCrcBytes, left));
    }
    const FileRange range{data, static_cast<int64_t>(length + kTfRecordCrcBytes)};
    use(std::ssize(records), range.num_bytes > max_bytes
                                 ? std::span<const std::byte>()
                                 : window.at(data, static_cast<size_t>(range.num_bytes)));
    records.push_back(range);
    offset = data + range.num_bytes;
  }
  return places;
}

}  // namespace ffkit
