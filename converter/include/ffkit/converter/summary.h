// The result of a conversion, or of an estimate.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>

namespace ffkit {

struct SplitSummary {
  std::string split;
  int64_t num_records = 0;
  int64_t num_skipped = 0;
  int64_t num_shards = 0;
  int64_t file_bytes = 0;  // of the shards
  std::string fingerprint;
  // Sums of the columns that Source::totals() names, in its order.
  std::vector<std::pair<std::string, int64_t>> totals = {};
};

struct ConvertSummary {
  std::vector<SplitSummary> splits;
  int64_t num_classes = 0;
  int64_t num_reported = 0;  // lines of report.jsonl
  // With StoreAs::dct: number of pictures without a dct code, by reason, such as "progressive".
  // Each has a line in report.jsonl.
  std::map<std::string, int64_t> without_dct;
  // Number of pictures that may lose something, by remark: "has 16 bits per channel: kept; ...".
  // Each has a line in report.jsonl.
  std::map<std::string, int64_t> remarks;
  bool headers_only = false;  // pictures were stored of which only the headers were looked at
  // By the action: "document left out", "replaced by U+FFFD" (bytes), ...
  std::map<std::string, ReportedAction> reported = {};
  double seconds = 0;
  // Requests of this process to stores so far, including listings of the source, and the bytes of
  // the answers.
  int64_t num_store_requests = 0;
  int64_t num_store_bytes = 0;
  // With options.resume: the data set was complete before, and nothing was written.
  bool was_finished = false;
  // With options.merge_when_complete: the parts of the conversion, and how many have finished.
  int64_t num_parts = 0;
  int64_t num_finished_parts = 0;
  // The splits of the whole data set, if this call has merged the parts. Empty: parts are missing,
  // or another process merges them.
  std::vector<SplitSummary> merged = {};
  // The folder of report.jsonl of a part that is not merged yet; empty: the destination.
  std::string report_folder = {};

  [[nodiscard]] int64_t num_records() const;
  [[nodiscard]] int64_t num_skipped() const;
  [[nodiscard]] int64_t num_without_dct() const;
  [[nodiscard]] int64_t num_remarks() const;
  [[nodiscard]] int64_t num_shards() const;
  [[nodiscard]] int64_t file_bytes() const;
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
