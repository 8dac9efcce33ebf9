// What an export has written, and what of it is not as it was.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ffkit {

// "fields that are null in some records, ...: 'a' in 3; 'b' in 1".
struct ExportNote {
  std::string sentence;
  std::vector<std::string> items = {};  // behind a colon

  // With all items, or with the first ones and the number of the others.
  std::string text(bool is_whole) const;
};

struct ExportedSplit {
  std::string split;
  int64_t num_records = 0;
  int64_t num_files = 0;
  int64_t num_bytes = 0;
  int64_t num_skipped = 0;  // records of which nothing was written: all they could give is null
  std::map<int64_t, std::string> renamed = {};  // see ExportNames
  std::vector<ExportNote> notes = {};           // what is not as it was
  // Options of `ffconvert webdataset` that the split needs to come back.
  std::set<std::string> way_back = {};
};

struct Exported {
  std::vector<ExportedSplit> splits;
  // Files of classes beside the splits, relative to the destination: "classes.txt". For forms that
  // do not say the classes in another way.
  std::vector<std::string> class_files;
  std::vector<std::string> notes;  // on the whole of it
};

}  // namespace ffkit
