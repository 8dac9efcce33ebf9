// Report lines: what there is to say about samples, one JSON object a line, as in DST/report.jsonl.
//
//   {"split":"train","source":"train.tar: n01440764/x.JPEG","reason":"is a CMYK JPEG",
//    "action":"re-encoded"}
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/manifest.h>

#include "pack/packer.h"
#include "storage/writer/file_sink.h"

namespace ffkit {

// With "picture" behind the source where a sample has several, and "count" before the action where
// it counts something.
struct ReportLine {
  std::string split;
  std::string source;  // Source::describe()
  SampleProblem problem;
};

// With the end of the line. Names of files need not be UTF-8: what is not becomes U+FFFD.
std::string to_text(const ReportLine& line);
// Nothing for a line of anything else.
std::optional<ReportLine> parse_report_line(std::string_view text);

// The lines about a sample: its problems, or that it is left out because of its error.
std::string report_lines(const Source& source, size_t split, int64_t sample,
                         const EncodedSample& encoded);

// What ConvertSummary says of a report.
struct ReportCounts {
  int64_t num_lines = 0;
  // Pictures without a dct code, by the reason: "progressive", "damaged or cut", ...
  std::map<std::string, int64_t> without_dct = {};
  // kPictureRemarks, by their words: "has 16 bits a channel: kept; ...".
  std::map<std::string, int64_t> remarks = {};
  // The lines with a SampleProblem::count, by the action.
  std::map<std::string, ReportedAction> by_action = {};

  void add(const ReportLine& line);
};

// Calls use(line, text) for each line of `report` that is one; `text` is with its end.
template <typename Use>
void for_report_lines(std::string_view report, const Use& use) {
  while (!report.empty()) {
    const std::string_view text =
        report.substr(0, std::min(report.find('\n'), report.size() - 1) + 1);
    report.remove_prefix(text.size());
    if (const std::optional<ReportLine> line = parse_report_line(text); line) use(*line, text);
  }
}

// DST/report.jsonl while it is being written, under another name. Without lines there will be no
// file.
class ReportFile {
 public:
  explicit ReportFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Appends whole lines; throws Error(io).
  void add(std::string_view lines);
  // Of all lines.
  const ReportCounts& counts() const noexcept { return counts_; }
  // Puts the file durably in its place; throws Error(io).
  void finish();

 private:
  const std::filesystem::path path_;
  std::unique_ptr<FileSink> file_;  // once there are lines
  ReportCounts counts_;
};

// The text of the report `path`; empty when there is no such file. Throws Error(io).
std::string read_report(const std::filesystem::path& path);

// What a summary says of a split.

// Of a split that is written.
SplitSummary summary_of(const Manifest& manifest, int64_t num_skipped = 0);

// Sums, of those of `columns` that `split` has, in their order. Reads columns, no records.
std::vector<std::pair<std::string, int64_t>> column_totals(const Dataset& split,
                                                           const std::vector<std::string>& columns);

}  // namespace ffkit
