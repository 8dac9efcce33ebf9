// How large the records of a split are, from its index.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct RecordSizes {
  std::vector<int64_t> stored_bytes;  // sorted; of all records, or of an even sample
  int64_t mean = 0;                   // of those
  bool is_sample = false;
};

// Looks at all of up to 2,000,000 records, else at 512 runs of 127 (one index page holds as many)
// spread evenly: memory and time stay bounded. Uses all threads.
RecordSizes read_record_sizes(const Dataset& dataset);

}  // namespace ffkit
