// The two files that MXNet's im2rec and MXIndexedRecordIO write beside a .rec.
//
//   train.idx   one line a record: key, tab, offset
//   train.lst   one line a picture: id, tab, label, tab, ..., name of the file
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "recordio/recordio_scan.h"

namespace ffkit {

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
