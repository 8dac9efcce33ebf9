#include "pack/report.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/converter/image_storage.h>

#include "storage/reader/random_reader.h"

namespace ffkit {
namespace {

using ReportJson = nlohmann::ordered_json;

ReportLine line_of(const Source& source, size_t split, int64_t sample, SampleProblem problem) {
  ReportLine line{source.splits()[split].name, source.describe(split, sample), std::move(problem)};
  std::string& reason = line.problem.reason;
  if (reason.starts_with(line.source + ": ")) reason.erase(0, line.source.size() + 2);
  return line;
}

int64_t sum_of(const std::vector<SplitSummary>& splits, int64_t SplitSummary::*member) {
  int64_t total = 0;
  for (const SplitSummary& split : splits) total += split.*member;
  return total;
}

int64_t sum_of(const std::map<std::string, int64_t>& counts) {
  int64_t total = 0;
  for (const auto& [words, count] : counts) total += count;
  return total;
}

}  // namespace

std::string to_text(const ReportLine& line) {
  const SampleProblem& problem = line.problem;
  ReportJson json = {{"split", line.split}, {"source", line.source}};
  if (!problem.picture.empty()) json["picture"] = problem.picture;
  json["reason"] = problem.reason;
  if (problem.count > 0) json["count"] = problem.count;
  json["action"] = problem.action;
  return json.dump(-1, ' ', false, ReportJson::error_handler_t::replace) + '\n';
}

std::optional<ReportLine> parse_report_line(std::string_view text) {
  const ReportJson json = ReportJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  try {
    return ReportLine{.split = json.at("split").get<std::string>(),
                      .source = json.at("source").get<std::string>(),
                      .problem = {.reason = json.at("reason").get<std::string>(),
                                  .action = json.at("action").get<std::string>(),
                                  .picture = json.value("picture", std::string()),
                                  .count = json.value("count", int64_t{0})}};
  } catch (const ReportJson::exception&) {
    return std::nullopt;
  }
}

std::string report_lines(const Source& source, size_t split, int64_t sample,
                         const EncodedSample& encoded) {
  if (encoded.error) {
    return to_text(line_of(source, split, sample, {encoded.error->what(), kSampleLeftOut}));
  }
  std::string lines;
  for (const SampleProblem& problem : encoded.problems) {
    lines += to_text(line_of(source, split, sample, problem));
  }
  return lines;
}

void ReportCounts::add(const ReportLine& line) {
  constexpr std::string_view kIs = "is ";
  const SampleProblem& problem = line.problem;
  ++num_lines;
  if (problem.action == kKeptWithoutDct && problem.reason.starts_with(kIs)) {
    ++without_dct[problem.reason.substr(kIs.size())];
  }
  for (const PictureRemark& remark : kPictureRemarks) {
    if (problem.reason != remark.reason || problem.action != remark.action) continue;
    ++remarks[fmt::format("{}: {}", remark.reason, remark.action)];
  }
  if (problem.count > 0) {
    ReportedAction& reported = by_action[problem.action];
    ++reported.num_lines;
    reported.count += problem.count;
  }
}

void ReportFile::add(std::string_view lines) {
  if (lines.empty()) return;
  if (file_ == nullptr) file_ = create_sink(path_);
  file_->write(std::as_bytes(std::span(lines)));
  for_report_lines(lines, [this](const ReportLine& line, std::string_view) { counts_.add(line); });
}

void ReportFile::finish() {
  if (file_ == nullptr) return;
  file_->finish();
  file_.reset();
}

std::string read_report(const std::filesystem::path& path) {
  if (!is_file_at(path)) return {};
  return read_text_at(path, std::numeric_limits<int64_t>::max());
}

SplitSummary summary_of(const Manifest& manifest, int64_t num_skipped) {
  return {.split = manifest.split,
          .num_records = manifest.num_records(),
          .num_skipped = num_skipped,
          .num_shards = std::ssize(manifest.shards),
          .file_bytes = manifest.file_bytes(),
          .fingerprint = manifest.fingerprint()};
}

std::vector<std::pair<std::string, int64_t>> column_totals(
    const Dataset& split, const std::vector<std::string>& columns) {
  std::vector<std::pair<std::string, int64_t>> totals;
  for (const std::string& column : columns) {
    if (split.schema().index_of(column) < 0) continue;
    const std::vector<int64_t> values = split.int_column(column);
    totals.emplace_back(column, std::accumulate(values.begin(), values.end(), int64_t{0}));
  }
  return totals;
}

int64_t ConvertSummary::num_records() const {
  return sum_of(splits, &SplitSummary::num_records);
}
int64_t ConvertSummary::num_skipped() const {
  return sum_of(splits, &SplitSummary::num_skipped);
}
int64_t ConvertSummary::num_without_dct() const {
  return sum_of(without_dct);
}
int64_t ConvertSummary::num_remarks() const {
  return sum_of(remarks);
}
int64_t ConvertSummary::num_shards() const {
  return sum_of(splits, &SplitSummary::num_shards);
}
int64_t ConvertSummary::file_bytes() const {
  return sum_of(splits, &SplitSummary::file_bytes);
}

}  // namespace ffkit
