// What a conversion has written, or would write.
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
  // With StoreAs::dct: the pictures that have no dct code, by the reason, such as "progressive".
  // Each has a line of report.jsonl.
  std::map<std::string, int64_t> without_dct;
  // Pictures that lose something, in the record or in batches, by the words about them: "has 16
  // bits a channel: kept; ...". Each has a line of report.jsonl.
  std::map<std::string, int64_t> remarks;
  bool headers_only = false;  // pictures were stored of which only the headers were looked at
  // By the action: "document left out", "replaced by U+FFFD" (bytes), ...
  std::map<std::string, ReportedAction> reported = {};
  double seconds = 0;
  // What this process has asked of stores so far, the listing of the source included, and the bytes
  // of the answers.
  int64_t num_store_requests = 0;
  int64_t num_store_bytes = 0;
  // With options.resume: the data set was complete before, and nothing was written.
  bool was_finished = false;
  // With options.merge_when_complete: the parts of the conversion, and how many have finished.
  int64_t num_parts = 0;
  int64_t num_finished_parts = 0;
  // The splits of the whole, where this call has merged the parts. Empty: parts are missing, or
  // another process has merged them or does so.
  std::vector<SplitSummary> merged = {};
  // Where report.jsonl is of a part that is not merged yet; empty: in the destination.
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
