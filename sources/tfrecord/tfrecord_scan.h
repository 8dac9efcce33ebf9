// TFRecord files: records behind each other, each with checksums of its length and its data.
//
//   | u64 length | u32 masked CRC-32C of the length | data | u32 masked CRC-32C of the data | ...
//
// Source: tensorflow/core/lib/io/record_writer.cc. The mask is ((crc >> 15) | (crc << 17)) +
// 0xa282ead8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "archives/tar_index.h"
#include "files/file_window.h"

namespace ffkit {

inline constexpr size_t kTfRecordCrcBytes = 4;

// Of a record: its data with the checksum behind them. Throws Error(corrupt), without a path, where
// they do not fit; returns the data.
std::span<const std::byte> checked_tfrecord(std::span<const std::byte> data_and_crc);

// Is told each record: its number in the file, and its data with the checksum; empty where it has
// more than the limit.
using UseTfRecord = std::function<void(int64_t record, std::span<const std::byte> data_and_crc)>;

// Where the records' data with their checksums lie, front to back.
struct TfRecordPlaces {
  std::vector<FileRange> records;
  // Of a file that is cut, or has a damaged length: what is wrong with the last of `records`, which
  // is all that is left of the file. Else empty.
  std::string damage;
};

// Reads the whole file, but for records of more than `max_bytes`. Throws Error(corrupt) for a file
// whose first record is cut or damaged, and for one that is something else, naming what it is.
TfRecordPlaces scan_tfrecords(const std::filesystem::path& path, int64_t num_bytes,
                              const ReadBytes& read, int64_t max_bytes, const UseTfRecord& use);

}  // namespace ffkit
