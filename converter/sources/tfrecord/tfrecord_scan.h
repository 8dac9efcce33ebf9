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
#include <vector>

#include "sources/archives/tar_index.h"
#include "sources/rows/read_bytes.h"

namespace ffkit {

inline constexpr size_t kTfRecordCrcBytes = 4;

// Of a record: its data with the checksum behind them. Throws Error(corrupt), without a path, where
// they do not fit; returns the data.
std::span<const std::byte> checked_tfrecord(std::span<const std::byte> data_and_crc);

// Is told each record: its number in the file, and its data with the checksum; empty where it has
// more than the limit.
using UseTfRecord = std::function<void(int64_t record, std::span<const std::byte> data_and_crc)>;

// Where the records' data with their checksums lie, front to back. Reads the whole file, but for
// records of more than `max_bytes`. Throws Error(corrupt) for a file that is cut or whose lengths
// are damaged, and for one that is something else, naming what it is.
std::vector<FileRange> scan_tfrecords(const std::filesystem::path& path, int64_t num_bytes,
                                      const ReadBytes& read, int64_t max_bytes,
                                      const UseTfRecord& use);

}  // namespace ffkit
