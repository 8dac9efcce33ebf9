// Report lines: what there is to say about samples, one JSON object a line, as in DST/report.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ffkit/converter/source.h>

#include "format/file/file.h"
#include "pack/sample_encoder.h"

namespace ffkit {

// {"split": "train", "source": "train.tar: n01440764/x.JPEG", "reason": "is a CMYK JPEG", "action":
// "re-encoded"}, one line a problem, with "picture" behind the source where a sample has several;
// the action for a sample with an error is "left out". Empty when there is nothing to say.
std::string report_lines(const Source& source, size_t split, int64_t sample,
                         const EncodedSample& encoded);

// How many of the lines are about a picture without a dct code, by the reason: "progressive",
// "damaged or cut", ...
std::map<std::string, int64_t> without_dct_by_reason(std::string_view lines);

// How many of the lines are kPictureRemarks, by their words: "has 16 bits a channel: kept; ...".
std::map<std::string, int64_t> remarks_by_words(std::string_view lines);
// The lines with a SampleProblem::count, by the action: {"document left out": 3 lines, ...}.
std::map<std::string, ReportedAction> counts_by_action(std::string_view lines);

// DST/report.jsonl while it is being written, under another name. Without lines there will be no
// file.
class ReportFile {
 public:
  explicit ReportFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Appends whole lines; throws Error(io).
  void add(std::string_view lines);
  int64_t num_lines() const { return num_lines_; }
  // without_dct_by_reason() of all lines.
  const std::map<std::string, int64_t>& without_dct() const { return without_dct_; }
  // remarks_by_words() of all lines.
  const std::map<std::string, int64_t>& remarks() const { return remarks_; }
  // counts_by_action() of all lines.
  const std::map<std::string, ReportedAction>& counts() const { return counts_; }
  // Puts the file durably in its place; throws Error(io).
  void finish();

 private:
  std::filesystem::path temporary() const;

  const std::filesystem::path path_;
  std::optional<File> file_;  // once there are lines
  int64_t num_lines_ = 0;
  std::map<std::string, int64_t> without_dct_;
  std::map<std::string, int64_t> remarks_;
  std::map<std::string, ReportedAction> counts_;
};

// The whole file; throws Error(not_found) or Error(io).
std::string read_text_file(const std::filesystem::path& path);

// Puts `text` durably into the file `path`, all or nothing; throws Error(io).
void write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace ffkit
