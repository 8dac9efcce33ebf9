#include "pack/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/converter/image_storage.h>

namespace ffkit {
namespace {

std::string line(const Source& source, size_t split, int64_t sample, SampleProblem problem) {
  std::string& reason = problem.reason;
  const std::string origin = source.describe(split, sample);
  if (reason.starts_with(origin + ": ")) reason.erase(0, origin.size() + 2);
  nlohmann::ordered_json json = {{"split", source.splits()[split].name}, {"source", origin}};
  if (!problem.picture.empty()) json["picture"] = problem.picture;
  json["reason"] = reason;
  if (problem.count > 0) json["count"] = problem.count;
  json["action"] = problem.action;
  // File names need not be UTF-8, JSON must be.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string report_lines(const Source& source, size_t split, int64_t sample,
                         const EncodedSample& encoded) {
  if (encoded.error) return line(source, split, sample, {encoded.error->what(), "left out"});
  std::string lines;
  for (const SampleProblem& problem : encoded.problems) {
    lines += line(source, split, sample, problem);
  }
  return lines;
}

std::map<std::string, int64_t> without_dct_by_reason(std::string_view lines) {
  constexpr std::string_view kBegin = R"("reason":"is )";
  const std::string end = fmt::format(R"(","action":"{}"}})", kKeptWithoutDct);
  std::map<std::string, int64_t> counts;
  for (size_t at = 0; at < lines.size();) {
    const size_t next = std::min(lines.find('\n', at), lines.size());
    std::string_view line = lines.substr(at, next - at);
    at = next + 1;
    if (!line.ends_with(end)) continue;
    line.remove_suffix(end.size());
    // The last one: a path before it may hold anything.
    const size_t reason = line.rfind(kBegin);
    if (reason != std::string_view::npos)
      ++counts[std::string(line.substr(reason + kBegin.size()))];
  }
  return counts;
}

std::map<std::string, int64_t> remarks_by_words(std::string_view lines) {
  std::map<std::string, int64_t> counts;
  for (const PictureRemark& remark : kPictureRemarks) {
    const std::string end =
        fmt::format("\"reason\":\"{}\",\"action\":\"{}\"}}\n", remark.reason, remark.action);
    int64_t count = 0;
    for (size_t at = lines.find(end); at != std::string_view::npos;
         at = lines.find(end, at + end.size())) {
      ++count;
    }
    if (count > 0) counts[fmt::format("{}: {}", remark.reason, remark.action)] = count;
  }
  return counts;
}

std::map<std::string, ReportedAction> counts_by_action(std::string_view lines) {
  constexpr std::string_view kCount = R"(","count":)";
  constexpr std::string_view kAction = R"(,"action":")";
  constexpr std::string_view kEnd = R"("})";
  std::map<std::string, ReportedAction> counts;
  for (size_t at = 0; at < lines.size();) {
    const size_t next = std::min(lines.find('\n', at), lines.size());
    std::string_view line = lines.substr(at, next - at);
    at = next + 1;
    // The last ones: a path before them may hold anything.
    const size_t action = line.rfind(kAction);
    const size_t count = line.rfind(kCount);
    if (action == std::string_view::npos || count == std::string_view::npos || count > action ||
        !line.ends_with(kEnd)) {
      continue;
    }
    const char* const digits = line.data() + count + kCount.size();
    int64_t number = 0;
    if (std::from_chars(digits, line.data() + action, number).ptr != line.data() + action) continue;
    line.remove_suffix(kEnd.size());
    ReportedAction& reported = counts[std::string(line.substr(action + kAction.size()))];
    ++reported.num_lines;
    reported.count += number;
  }
  return counts;
}

void ReportFile::add(std::string_view lines) {
  if (lines.empty()) return;
  if (!file_) file_ = File::create(temporary());
  file_->write(std::as_bytes(std::span(lines)));
  num_lines_ += std::ranges::count(lines, '\n');
  for (const auto& [reason, count] : without_dct_by_reason(lines)) without_dct_[reason] += count;
  for (const auto& [words, count] : remarks_by_words(lines)) remarks_[words] += count;
  for (const auto& [action, more] : counts_by_action(lines)) {
    counts_[action].num_lines += more.num_lines;
    counts_[action].count += more.count;
  }
}

void ReportFile::finish() {
  if (!file_) return;
  file_->sync();
  file_->close();
  rename_durably(temporary(), path_);
  file_.reset();
}

std::filesystem::path ReportFile::temporary() const {
  std::filesystem::path temporary = path_;
  return temporary += ".tmp";
}

std::string read_text_file(const std::filesystem::path& path) {
  const File file = File::open_for_reading(path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  File file = File::create(temporary);
  file.write(std::as_bytes(std::span(text)));
  file.sync();
  file.close();
  rename_durably(temporary, path);
}

}  // namespace ffkit
