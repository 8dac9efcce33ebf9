// What a conversion has written, or would write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ffkit {

struct SplitSummary {
  std::string split;
  int64_t num_records = 0;
  int64_t num_skipped = 0;
  int64_t num_shards = 0;
  int64_t file_bytes = 0;  // of the shards
  std::string fingerprint;
};

struct ConvertSummary {
  std::vector<SplitSummary> splits;
  int64_t num_classes = 0;
  int64_t num_reported = 0;  // lines of report.jsonl
  double seconds = 0;
  bool was_finished = false;  // with options.resume: the data set was there, nothing was written

  int64_t num_records() const;
  int64_t num_skipped() const;
  int64_t num_shards() const;
  int64_t file_bytes() const;
};

struct SplitEstimate {
  std::string split;
  int64_t num_samples = 0;
  int64_t num_shards = 0;
  int64_t file_bytes = 0;  // of the shards
};

struct ConvertEstimate {
  std::vector<SplitEstimate> splits;
  double seconds = 0;  // of reading and encoding; a disk that writes slower takes longer
};

}  // namespace ffkit
