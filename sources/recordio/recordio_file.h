// RecordIO files of MXNet, and the lists that stand beside them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>

#include "archives/tar_index.h"
#include "files/file_window.h"

namespace ffkit {

// RecordIO files of MXNet: records behind each other, each in one part or more.
//
//   | u32 magic 0xced7230a | u32: 3 bits part, 29 bits length | data | padding to 4 | ...
//
// What a part is: 0 a whole record, 1 the first part of one, 2 one between, 3 the last. A record is
// cut where the magic stands in its data at a multiple of 4 bytes; those 4 bytes are left out, and
// stand between its parts. So the magic never stands at such a place but in front of a part.
// Source: dmlc-core, include/dmlc/recordio.h and src/recordio.cc.
//
// A record of a picture begins with a header (MXNet's python/mxnet/recordio.py, IRHeader):
//
//   | u32 flag | f32 label | u64 id | u64 id2 | f32 x flag: labels | the picture's file |

// The record whose parts fill `parts`: in place where there is one, else in `buffers`. Throws
// Error(corrupt), without a path, for what is no whole record.
std::span<const std::byte> join_recordio_parts(std::span<const std::byte> parts,
                                               SampleBuffers& buffers);

// A record with a header; points into the record.
struct RecordIoImage {
  uint32_t flag = 0;  // number of `labels`
  float label = 0;
  uint64_t id = 0;
  uint64_t id2 = 0;
  std::span<const std::byte> labels;  // f32, little-endian
  std::span<const std::byte> data;    // what is behind the header

  // The label of a record that has one: its only one, or the header's.
  float only_label() const;
};
// Nothing for what is too short for the header and its labels.
std::optional<RecordIoImage> split_recordio_image(std::span<const std::byte> record);

// What a range of a file is.
enum class RecordIoContent : uint8_t {
  picture_with_header,
  header_only,  // and no picture behind it
  picture,      // without a header
  other,
  damaged,  // no record, or one behind which is none: bytes up to the next one
};

struct RecordIoEntry {
  FileRange range;  // with the headers of its parts
  RecordIoContent content = RecordIoContent::other;
  // Of the header, where there can be one.
  uint32_t flag = 0;
  float label = 0;
  uint64_t id = 0;
  uint64_t id2 = 0;
};

// All records of a file of `num_bytes` bytes, in its order. Of each only the first bytes are read;
// of those in several parts all, where they have `max_bytes` at most. `block_bytes`: how much is
// read at once, at least. Behind a damaged place the scan goes on with the next record. Throws
// source_error(unsupported) for a file that does not begin with a record, Error(cancelled).
std::vector<RecordIoEntry> scan_recordio(const std::filesystem::path& path, int64_t num_bytes,
                                         const ReadBytes& read, int64_t max_bytes,
                                         size_t block_bytes, const std::atomic<bool>* cancel);

// The two files that MXNet's im2rec and MXIndexedRecordIO write beside a .rec.
//
//   train.idx   one line a record: key, tab, offset
//   train.lst   one line a picture: id, tab, label, tab, ..., name of the file

// The keys of `records`, in their order. Throws source_error(invalid_argument) for a line that is
// none, and for a file that names other places than those of the records.
std::vector<std::string> read_recordio_keys(const std::filesystem::path& idx,
                                            std::span<const RecordIoEntry> records);

struct ListedPicture {
  std::vector<float> labels;
  std::string name;
};
// By id. Throws source_error(invalid_argument) for a line that is none, or whose id is there twice.
std::map<uint64_t, ListedPicture> read_picture_list(const std::filesystem::path& lst);

// The names of `records`, in their order. Where one has none, or another label than the list says,
// the list is not theirs: then `why_not` says so, and there are no names.
std::vector<std::string> names_of_records(const std::map<uint64_t, ListedPicture>& list,
                                          std::span<const RecordIoEntry> records,
                                          std::string& why_not);

}  // namespace ffkit
